-- Owns what a person can do, one function each: keys and `:Acp` call these.

local chat = require("acp.ui.chat")
local config = require("acp.config")
local diff = require("acp.ui.diff")
local hub = require("acp.hub")
local keys = require("acp.ui.keys")
local pickers = require("acp.ui.pickers")
local question = require("acp.ui.question")

local M = {}

---Returns the conversation that is shown; a new one when there is none.
---@return acp.Session
function M.session()
  return chat.current() or hub.session(vim.fn.getcwd())
end

---@return acp.Page
local function page()
  return chat.page(M.session())
end

---@param words string
local function warn(words)
  vim.notify("acp: " .. words, vim.log.levels.WARN)
end

function M.open()
  chat.show(M.session())
end

function M.toggle()
  if chat.is_shown() then
    return chat.hide()
  end
  M.open()
end

function M.hide()
  chat.hide()
end

M.prompt = M.open

function M.new()
  chat.show(hub.session(vim.fn.getcwd()))
end

---Sends a text, or what is written in the prompt.
---@param text? string
function M.send(text)
  text = text or page().prompt:take()
  if text then
    M.session():prompt(text)
  end
end

---@param text? string
function M.steer(text)
  local session = M.session()
  text = text or page().prompt:take()
  if text and not session:steer(text) then
    session:prompt(text) -- nothing runs, or the agent takes nothing up: it waits its turn
  end
end

function M.stop()
  M.session():stop()
end

function M.close()
  local session = chat.current()
  if session then
    hub.close(session)
    chat.forget(session)
  end
end

---@param everywhere? boolean
function M.sessions(everywhere)
  pickers.stored(everywhere or false, "Conversation", function(entry)
    chat.show(hub.session(entry.cwd, entry.sessionId))
  end)
end

---Opens the newest stored conversation of the directory.
function M.continue()
  hub.list(vim.fn.getcwd(), function(err, found)
    if err then
      return pickers.complain(err)
    elseif not found or not found[1] then
      return M.new()
    end
    chat.show(hub.session(found[1].cwd, found[1].sessionId))
  end)
end

---@param everywhere? boolean
function M.delete(everywhere)
  pickers.stored(everywhere or false, "Delete which conversation", pickers.delete)
end

---@param title? string
function M.rename(title)
  local session = M.session()
  if not title then
    return vim.ui.input({ prompt = "Title: ", default = session.title }, function(given)
      if given and given ~= "" then
        M.rename(given)
      end
    end)
  end
  local client, method = hub.client(), "_acp_server/session/rename"
  if not client:offers(method) or not session.id then
    return warn("the agent cannot rename conversations")
  end
  client:request(method, { sessionId = session.id, title = title }, function(err)
    if err then
      return pickers.complain(err)
    end
    session.title = title
    chat.bars()
  end)
end

function M.fork()
  local session, client = M.session(), hub.client()
  local method = client:has("fork") and "session/fork" or "_acp_server/session/fork"
  if not session.id or not (client:has("fork") or client:offers(method)) then
    return warn("the agent cannot fork conversations")
  end
  local params = { sessionId = session.id, cwd = session.cwd, mcpServers = config.values.mcp_servers }
  client:request(method, params, function(err, result)
    if err or not result then
      return pickers.complain(err or { code = 0, message = "no answer" })
    end
    chat.show(hub.session(session.cwd, result.sessionId))
  end)
end

---@param id? string
function M.mode(id)
  pickers.mode(M.session(), id)
end

function M.next_mode()
  pickers.next_mode(M.session())
end

---@param value? string
function M.model(value)
  pickers.option(M.session(), "model", value)
end

---@param name? string
---@param value? string
function M.option(name, value)
  if name then
    return pickers.option(M.session(), name, value)
  end
  pickers.options(M.session())
end

function M.decide()
  if not question.decide() then
    warn("nothing is asked")
  end
end

function M.allow()
  if not question.answer("allow_once") then
    warn("nothing is asked")
  end
end

function M.reject()
  if not question.answer("reject_once") then
    warn("nothing is asked")
  end
end

---Takes prompts that wait back into the prompt buffer.
function M.unqueue()
  local session = M.session()
  if #session.queue == 0 then
    return warn("no prompt waits")
  end
  local texts = session.queue
  session.queue = {}
  page().prompt:give_back(texts)
  chat.bars()
end

---Puts a mention of some lines of the current buffer into the prompt.
---@param first integer
---@param last integer
---@param whole boolean
function M.add(first, last, whole)
  local name = vim.api.nvim_buf_get_name(0)
  if name == "" or vim.bo.buftype ~= "" then
    return warn("this buffer has no file")
  end
  local session = M.session()
  local path = session.transcript:path(vim.fs.normalize(name))
  local word = whole and path or ("%s:%d-%d"):format(path, first, last)
  chat.show(session)
  page().prompt:add("@" .. require("acp.mentions").written(word) .. " ")
end

---Returns the call under the cursor of the chat.
---@return acp.ToolCall?
local function call_here()
  local block = page().painter:at(vim.api.nvim_win_get_cursor(0)[1] - 1)
  return block and block.call
end

function M.diff()
  local call = call_here()
  if not call or #require("acp.ui.changes").by_file(call) == 0 then
    return warn("there is no edit here")
  end
  local proposed = call.status ~= "completed" and call.status ~= "failed"
  diff.show(call, proposed, {
    decide = M.decide,
    close_diff = function()
      diff.hide(call.toolCallId)
    end,
  })
end

---Opens the file that the call under the cursor is about.
function M.jump()
  local call = call_here()
  local place = call and call.locations and call.locations[1]
  if not place then
    return
  end
  vim.cmd("wincmd p")
  if vim.bo.filetype:match("^acp%-") then
    vim.cmd("leftabove vnew")
  end
  vim.cmd("edit " .. vim.fn.fnameescape(place.path))
  if place.line then
    pcall(vim.api.nvim_win_set_cursor, 0, { place.line, 0 })
  end
end

function M.fold()
  pcall(vim.cmd, "normal! za")
end

---@param step integer
local function to_prompt(step)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local found = page().painter:prompts()
  for place = step > 0 and 1 or #found, step > 0 and #found or 1, step do
    if (found[place] - line) * step > 0 then
      return vim.api.nvim_win_set_cursor(0, { found[place], 0 })
    end
  end
end

function M.next()
  to_prompt(1)
end

function M.previous()
  to_prompt(-1)
end

function M.older()
  page().prompt:recall(1)
end

function M.newer()
  page().prompt:recall(-1)
end

function M.help()
  chat.popup(keys.help(vim.bo.filetype == "acp-chat" and config.values.keys.chat or config.values.keys.prompt))
end

M.restart = hub.restart

---Shows what the agent wrote to its standard error.
function M.log()
  local lines = hub.client():stderr()
  vim.cmd("botright 10new")
  vim.bo.buftype, vim.bo.bufhidden = "nofile", "wipe"
  vim.api.nvim_buf_set_lines(0, 0, -1, false, #lines > 0 and lines or { "The agent said nothing." })
end

return M
