-- Owns the permission requests of a conversation: each is answered once, by the person or by the end of its turn.

local M = {}

---Answers a question.
---@param self acp.Session
---@param question acp.Question
---@param option acp.PermissionOption
function M.decide(self, question, option)
  if not question.done then
    question.answer(option)
    self.transcript:decided(question.call.toolCallId, option.name)
    M.remove(self, question)
  end
end

---Takes a question of the agent's.
---@param self acp.Session
---@param params { toolCall: acp.ToolCall, options: acp.PermissionOption[] }
---@param reply acp.Reply
---@param request integer|string
function M.asked(self, params, reply, request)
  local question = { request = request, call = params.toolCall, options = params.options, done = false }
  question.answer = function(option)
    question.done = true
    reply(nil, {
      outcome = option and { outcome = "selected", optionId = option.optionId } or { outcome = "cancelled" },
    })
  end
  self.questions[#self.questions + 1] = question
  self.transcript:asked(params.toolCall, M.reason(params.toolCall))
  self:tell("question", question)
  self:tell("state")
end

---Forgets the question of a request that the agent took back.
---@param self acp.Session
---@param request integer|string
function M.withdrawn(self, request)
  for _, question in ipairs(self.questions) do
    if question.request == request then
      question.answer(nil)
      self.transcript:decided(question.call.toolCallId, "Not asked any more")
      return M.remove(self, question)
    end
  end
end

---Answers every open question as the end of the turn does.
---@param self acp.Session
function M.drop(self)
  for _, question in ipairs(vim.list_slice(self.questions)) do
    question.answer(nil)
    self.transcript:decided(question.call.toolCallId, "Stopped")
    M.remove(self, question)
  end
end

---Takes an answered question off the list.
---@param self acp.Session
---@param question acp.Question
function M.remove(self, question)
  self.questions = vim.tbl_filter(function(other)
    return other ~= question
  end, self.questions)
  self:tell("decided", question)
  self:tell("state")
end

---Returns why a call is asked, in the agent's words.
---@param call acp.ToolCall
---@return string
function M.reason(call)
  local raw = call.rawInput
  return type(raw) == "table" and type(raw.reason) == "string" and raw.reason or call.title or "May this be done?"
end

return M
