-- Owns a conversation as blocks: the fold of session/update. Pure: it says what changed and draws nothing.

local M = {}

---@class acp.Transcript
---@field blocks acp.Block[]
---@field cwd string
---@field private by_id table<string, integer> place of each call and compaction
---@field private plan? integer place of the plan of the turn that runs
---@field private listener fun(change: acp.Change)
local Transcript = {}
Transcript.__index = Transcript

local TEXTS = { user_message_chunk = "user", agent_message_chunk = "agent", agent_thought_chunk = "thought" }

---Returns an empty conversation; each change of it is told to the listener.
---@param cwd string what paths are shown relative to
---@param listener fun(change: acp.Change)
---@return acp.Transcript
function M.new(cwd, listener)
  return setmetatable({ blocks = {}, cwd = cwd, by_id = {}, listener = listener }, Transcript)
end

---Returns the text of a block of a person, an agent or a thought.
---@param block acp.Block
---@return string
function M.text(block)
  local parts = block.parts or {}
  if #parts > 1 then
    block.parts = { table.concat(parts) }
  end
  return block.parts and block.parts[1] or ""
end

---Takes one update; returns whether it belongs to the conversation.
---@param update acp.Update
---@return boolean
function Transcript:apply(update)
  local kind = update.sessionUpdate
  if TEXTS[kind] then
    self:_text(TEXTS[kind], update.messageId, self:words(update.content or {}))
  elseif kind == "tool_call" or kind == "tool_call_update" then
    self:_call(update --[[@as acp.ToolCall]])
  elseif kind == "plan" then
    self:_plan(update.entries or {})
  elseif kind == "notice" then
    self:notice(update.severity or "info", M.join(update.title, update.description))
  elseif kind == "compaction_update" then
    self:_compaction(update)
  else
    return false
  end
  return true
end

---Begins a turn with what the person wrote.
---@param text string
function Transcript:said(text)
  self:turn_ended()
  self:_add({ kind = "user", parts = { text } })
  self:_close(#self.blocks)
end

---Ends the texts and the plan of a turn: what follows begins anew.
function Transcript:turn_ended()
  self:_close(#self.blocks)
  self.plan = nil
end

---Adds a line of the plugin's or the agent's own.
---@param severity "info"|"warning"|"error"
---@param text string
function Transcript:notice(severity, text)
  self:_add({ kind = "notice", severity = severity, parts = { text } })
end

---Adds what is asked to its call, which need not have been announced.
---@param call acp.ToolCall
---@param words string
function Transcript:asked(call, words)
  local known = self.by_id[call.toolCallId]
  local shown = vim.deepcopy(call)
  if known then -- the announcement knows the call's own content; the question repeats it with words of its own
    shown.content, shown.rawInput = nil, nil
  end
  self:_call(shown)
  local index = self.by_id[call.toolCallId]
  self.blocks[index].question = { words = words }
  self:_tell(index, "change")
end

---Adds what was decided to the call that was asked.
---@param id string
---@param answer string
function Transcript:decided(id, answer)
  local index = self.by_id[id]
  local question = index and self.blocks[index].question
  if question then
    question.answer = answer
    self:_tell(index, "change")
  end
end

---Returns the place of a call, nil when it is not known.
---@param id string
---@return integer?
function Transcript:place(id)
  return self.by_id[id]
end

---Returns how a content block is shown in words.
---@param content acp.ContentBlock
---@return string
function Transcript:words(content)
  if content.type == "text" then
    return (content.text or ""):gsub("\r\n", "\n")
  end
  if content.type == "resource_link" or content.type == "resource" then
    return "@" .. self:path(content.uri or (content.resource or {}).uri or content.name or "?")
  end
  return ("[%s %s]"):format(content.type or "content", content.mimeType or "")
end

---Returns a path or file address relative to the conversation's directory, if it lies there.
---@param uri string
---@return string
function Transcript:path(uri)
  local path = uri
  if uri:match("^file://") then
    local place, fragment = uri:match("^([^#]*)#?(.*)$")
    local first, last = fragment:match("^L(%d+)%-?L?(%d*)$")
    path = vim.uri_to_fname(place) .. (first and (":" .. first .. (last ~= "" and "-" .. last or "")) or "")
  end
  local base = self.cwd:gsub("/$", "") .. "/"
  return path:sub(1, #base) == base and path:sub(#base + 1) or path
end

---@private
---@param kind "user"|"agent"|"thought"
---@param id? string
---@param text string
function Transcript:_text(kind, id, text)
  local last = self.blocks[#self.blocks]
  if last and last.kind == kind and not last.closed and last.id == id then
    last.parts[#last.parts + 1] = text
    return self:_tell(#self.blocks, "append", text)
  end
  if kind == "user" then
    self.plan = nil
  end
  self:_add({ kind = kind, id = id, parts = { text } })
end

---@private
---@param call acp.ToolCall
function Transcript:_call(call)
  local index = self.by_id[call.toolCallId]
  if not index then
    self.by_id[call.toolCallId] = #self.blocks + 1
    return self:_add({ kind = "tool", id = call.toolCallId, call = call })
  end
  local known = self.blocks[index].call --[[@as table]]
  for key, value in pairs(call) do
    known[key] = value
  end
  self:_tell(index, "change")
end

---@private
---@param entries acp.PlanEntry[]
function Transcript:_plan(entries)
  if self.plan then
    self.blocks[self.plan].entries = entries
    return self:_tell(self.plan, "change")
  end
  if #entries > 0 then
    self.plan = #self.blocks + 1
    self:_add({ kind = "plan", entries = entries })
  end
end

---@private
---@param update acp.Update
function Transcript:_compaction(update)
  local said = { in_progress = "Making room …", completed = "Made room.", failed = "No room could be made." }
  local id = "compaction:" .. tostring(update.compactionId)
  local index, text = self.by_id[id], said[update.status] or "Making room was stopped."
  if index then
    self.blocks[index].parts = { text }
    return self:_tell(index, "change")
  end
  self.by_id[id] = #self.blocks + 1
  self:_add({ kind = "notice", id = id, severity = "info", parts = { text } })
end

---@private
---@param block acp.Block
function Transcript:_add(block)
  self:_close(#self.blocks)
  self.blocks[#self.blocks + 1] = block
  self:_tell(#self.blocks, "new")
end

---@private
---@param index integer
function Transcript:_close(index)
  local block = self.blocks[index]
  if block and not block.closed and block.parts then
    block.closed = true
    self:_tell(index, "close")
  end
end

---@private
---@param index integer
---@param how "new"|"append"|"change"|"close"
---@param text? string
function Transcript:_tell(index, how, text)
  self.listener({ index = index, how = how, text = text })
end

---Returns a title and a text as one.
---@param title? string
---@param text? string
---@return string
function M.join(title, text)
  if title and text and title ~= text then
    return title .. ": " .. text
  end
  return title or text or ""
end

return M
