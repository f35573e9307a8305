-- Owns how a piece of a conversation reads: lines of Markdown, and which of them are coloured. Pure; it has no buffer.

local card = require("acp.ui.card")
local markdown = require("acp.ui.markdown")
local transcript = require("acp.transcript")

local M = {}

---@class acp.Mark
---@field row integer of the block, from 0
---@field group string
---@field col? integer first byte that is coloured; the whole line when absent
---@field stop? integer byte behind the last one

---@class acp.Shape
---@field lines string[]
---@field marks acp.Mark[]
---@field fold boolean whether it is folded once it is over

local QUOTE = "> "
M.THOUGHT = "> _Thought_"
M.USER = "## You"

---Returns how a block reads.
---@param block acp.Block
---@param options acp.Config
---@param path fun(path: string): string how a path is shown
---@return acp.Shape
function M.block(block, options, path)
  if block.kind == "tool" then
    return card.shape(block, options, path)
  elseif block.kind == "plan" then
    return M.plan(block.entries or {}, options)
  elseif block.kind == "notice" then
    return M.notice(block)
  end
  return M.text(block, options)
end

---Returns how what is added to a text is written behind what stands there.
---@param block acp.Block
---@param text string
---@return string[] lines the first continues the last line of the block
function M.more(block, text)
  local lines = vim.split(text, "\n", { plain = true })
  if block.kind == "thought" then
    for place = 2, #lines do
      lines[place] = QUOTE .. lines[place]
    end
  end
  return lines
end

---Returns what has to stand behind a text that is over, so that it breaks nothing that follows; nil when nothing has to.
---@param block acp.Block
---@return string?
function M.closing(block)
  return block.kind ~= "thought" and markdown.open_fence(transcript.text(block)) or nil
end

---@param block acp.Block
---@param options acp.Config
---@return acp.Shape
function M.text(block, options)
  local text = transcript.text(block)
  local lines, marks = M.more(block, text), {}
  if block.kind == "user" then
    table.insert(lines, 1, M.USER)
    for row = 0, #lines - 1 do
      marks[#marks + 1] = { row = row, group = row == 0 and "AcpUserTitle" or "AcpUser" }
    end
  elseif block.kind == "thought" then
    lines[1] = QUOTE .. lines[1]
    table.insert(lines, 1, M.THOUGHT)
  end
  local closing = block.closed and M.closing(block)
  if closing then
    lines[#lines + 1] = closing
  end
  return { lines = lines, marks = marks, fold = block.kind == "thought" and options.folds.thoughts }
end

local NOTICES = { info = "AcpInfo", warning = "AcpWarning", error = "AcpError" }

---@param block acp.Block
---@return acp.Shape
function M.notice(block)
  local lines, marks = vim.split(transcript.text(block), "\n", { plain = true }), {}
  for place, line in ipairs(lines) do
    lines[place] = QUOTE .. line
    marks[place] = { row = place - 1, group = NOTICES[block.severity] or "AcpInfo" }
  end
  return { lines = lines, marks = marks, fold = false }
end

local BOXES = { completed = "- [x] ", in_progress = "- [ ] ", pending = "- [ ] " }

---@param entries acp.PlanEntry[]
---@param options acp.Config
---@return acp.Shape
function M.plan(entries, options)
  local done, lines, marks = M.count(entries), {}, {}
  lines[1] = ("**Plan** %d of %d"):format(done, #entries)
  for place, entry in ipairs(entries) do
    local active = entry.status == "in_progress"
    local line = (BOXES[entry.status] or "- [ ] ") .. markdown.line(entry.content)
    lines[place + 1] = active and line .. " " .. options.icons.in_progress or line
    if active then
      marks[#marks + 1] = { row = place, group = "AcpActive" }
    elseif entry.status == "completed" then
      marks[#marks + 1] = { row = place, group = "AcpDone" }
    end
  end
  return { lines = lines, marks = marks, fold = false }
end

---Returns how many entries of a plan are completed.
---@param entries acp.PlanEntry[]
---@return integer
function M.count(entries)
  local done = 0
  for _, entry in ipairs(entries) do
    done = done + (entry.status == "completed" and 1 or 0)
  end
  return done
end

return M
