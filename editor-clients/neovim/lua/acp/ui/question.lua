-- Owns how a permission request reaches the person: shown when nobody types, with the diff of an edit beside it, decided
-- by vim.ui.select. Turning away from the list decides nothing.

local config = require("acp.config")
local diff = require("acp.ui.diff")
local idle = require("acp.ui.idle")

local M = {}

local STOP_MS = 20

---@type { session: acp.Session, question: acp.Question, seen?: boolean }[]
local waiting = {}

---Hears of a question. It opens by itself once the person has paused, if that is wanted.
---@param session acp.Session
---@param question acp.Question
function M.raise(session, question)
  local entry = { session = session, question = question }
  waiting[#waiting + 1] = entry
  if config.values.questions == "idle" then
    idle.when(function(free)
      if question.done or entry.seen then
        return free()
      end
      M.open(entry, free)
    end)
  end
end

---Forgets a question that is answered.
---@param question acp.Question
function M.settled(question)
  waiting = vim.tbl_filter(function(entry)
    return entry.question ~= question
  end, waiting)
  diff.hide(question.call.toolCallId)
end

---Asks again what is open, the oldest question first. Returns false when there is none.
---@return boolean
function M.decide()
  if waiting[1] then
    M.open(waiting[1])
  end
  return waiting[1] ~= nil
end

---Answers the oldest question by the first option of a kind, without a list.
---@param kind string
---@return boolean
function M.answer(kind)
  local entry = waiting[1]
  for _, option in ipairs(entry and entry.question.options or {}) do
    if option.kind == kind then
      entry.session:decide(entry.question, option)
      return true
    end
  end
  return false
end

---Opens a question. What is being written is left for it, and gone on with afterwards.
---@param entry { session: acp.Session, question: acp.Question, seen?: boolean }
---@param free? fun() called once the list is away
function M.open(entry, free)
  entry.seen = true
  local writing = vim.api.nvim_get_mode().mode == "i"
  if writing then
    vim.cmd("stopinsert")
  end
  vim.defer_fn(function() -- Insert mode ends with the next turn of the main loop
    M.choose(entry, function()
      if free then
        free()
      end
      if writing and vim.bo.filetype == "acp-prompt" then
        vim.cmd("startinsert!")
      end
    end)
  end, writing and STOP_MS or 0)
end

---@param entry { session: acp.Session, question: acp.Question }
---@param away fun()
function M.choose(entry, away)
  local question = entry.question
  if question.done then
    return away()
  end
  if config.values.show_diff and not diff.is_shown(question.call.toolCallId) then
    diff.show(question.call, true, M.actions(question))
  end
  vim.cmd("redraw")
  vim.ui.select(question.options, {
    prompt = (question.call.title or "May this be done") .. "?",
    kind = "acp-permission",
    format_item = function(option)
      return option.name
    end,
  }, function(option)
    vim.cmd("redraw") -- so that a list of Neovim's own does not wait for Enter
    if option then
      entry.session:decide(question, option)
    end
    away()
  end)
end

---@param question acp.Question
---@return table<string, fun()>
function M.actions(question)
  return {
    decide = M.decide,
    close_diff = function()
      diff.hide(question.call.toolCallId)
    end,
  }
end

return M
