-- Owns the turn of a conversation that runs and the prompts that wait for it.

local mentions = require("acp.mentions")
local questions = require("acp.session.questions")
local rpc = require("acp.wire.rpc")

local M = {}

---Sends a prompt, or has it wait for the turn that runs.
---@param self acp.Session
---@param text string
function M.prompt(self, text)
  self.queue[#self.queue + 1] = text
  if self.status ~= "open" and self.status ~= "opening" then
    self:open()
  end
  M.pump(self)
  self:tell("state")
end

---Says something to the turn that runs, which takes it up at its next step; false when the agent cannot.
---@param self acp.Session
---@param text string
---@return boolean
function M.steer(self, text)
  local method = "_acp_server/session/steer"
  if not self.running or not self.client:offers(method) then
    return false
  end
  self.transcript:said(text)
  self.client:request(method, { sessionId = self.id, prompt = mentions.blocks(text, self.setup.look) }, function(err)
    if err then
      self:complain(err)
    end
  end)
  return true
end

---Ends the turn that runs and gives the prompts that wait back to the person.
---@param self acp.Session
function M.stop(self)
  if self.running then
    self.client:notify("session/cancel", { sessionId = self.id })
  end
  questions.drop(self)
  M.return_queue(self)
  self:tell("state")
end

---@param self acp.Session
function M.pump(self)
  if self.status ~= "open" or self.running or #self.queue == 0 then
    return
  end
  local text = table.remove(self.queue, 1)
  self.running, self.started_ns = true, vim.uv.hrtime()
  self.transcript:said(text)
  local params = { sessionId = self.id, prompt = mentions.blocks(text, self.setup.look), _meta = M.meta(self) }
  self.client:request("session/prompt", params, function(err, result)
    M.finished(self, err, result and result.stopReason)
  end)
end

---Returns what a prompt says of the editor to an agent that asked for it: which files are open.
---@param self acp.Session
---@return table?
function M.meta(self)
  local found = {}
  for name, extension in pairs(self.client.can._meta or {}) do
    if type(extension) == "table" and extension.editorState then
      found[name] = { editor = self.setup.editor() }
    end
  end
  return next(found) and found or nil
end

local STOPPED = {
  cancelled = "Stopped.",
  max_tokens = "The answer reached the longest that the model may give.",
  max_turn_requests = "The turn used up its requests.",
  refusal = "The model refused to answer.",
}

---@param self acp.Session
---@param err? acp.Error
---@param reason? string
function M.finished(self, err, reason)
  if err and err.code == rpc.GONE then
    return -- `lost` tells it
  end
  self.running = false
  questions.drop(self)
  self.transcript:turn_ended()
  if err then
    self:complain(err)
  elseif STOPPED[reason] then
    self.transcript:notice(reason == "cancelled" and "info" or "warning", STOPPED[reason])
  end
  if err or reason == "cancelled" then
    M.return_queue(self)
  end
  self:tell("ended")
  M.pump(self)
  self:tell("state")
end

---@param self acp.Session
function M.return_queue(self)
  if #self.queue > 0 then
    local texts = self.queue
    self.queue = {}
    self:tell("returned", texts)
  end
end

return M
