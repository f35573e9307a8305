-- Owns the chat: which conversation is shown, its pages, and how events of a conversation reach the screen.

local bar = require("acp.ui.bar")
local config = require("acp.config")
local files = require("acp.files")
local follow = require("acp.ui.follow")
local hub = require("acp.hub")
local keys = require("acp.ui.keys")
local painter = require("acp.ui.painter")
local prompt = require("acp.ui.prompt")
local question = require("acp.ui.question")
local windows = require("acp.ui.windows")

local M = {}

local TICK_MS = 250

---@class acp.Page
---@field painter acp.Painter
---@field prompt acp.Prompt

---@type table<acp.Session, acp.Page>
local pages = {}
---@type acp.Session?
local current
---@type uv.uv_timer_t?
local ticking

---What keys do, by name; filled by `acp.actions`.
---@type table<string, fun()>
M.actions = {}

---Returns the conversation that is shown, or was shown last.
---@return acp.Session?
function M.current()
  return current
end

---Returns the page of a conversation.
---@param session acp.Session
---@return acp.Page
function M.page(session)
  return pages[session]
end

---Makes the page of a conversation and listens to it.
---@param session acp.Session
function M.adopt(session)
  local page = { painter = painter.new(session.transcript), prompt = prompt.new() }
  pages[session], current = page, current or session
  local chat = page.painter.buf
  vim.bo[chat].filetype = "acp-chat"
  vim.bo[chat].bufhidden = "hide"
  pcall(vim.treesitter.start, chat, "markdown")
  pcall(vim.api.nvim_buf_set_name, chat, ("acp://chat/%d"):format(chat))
  pcall(vim.api.nvim_buf_set_name, page.prompt.buf, ("acp://prompt/%d"):format(chat))
  keys.map(chat, config.values.keys.chat, M.actions)
  keys.map(page.prompt.buf, config.values.keys.prompt, M.actions)
  require("acp.ui.completion").attach(page.prompt.buf, session)
  vim.api.nvim_create_autocmd("BufWinEnter", {
    buffer = chat,
    callback = function()
      page.painter:attach(vim.api.nvim_get_current_win())
    end,
  })
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, { buffer = page.prompt.buf, callback = windows.fit })
  session:listen(function(event, payload)
    M.heard(session, page, event, payload)
  end)
end

---@param session acp.Session
---@param page acp.Page
---@param event acp.Event
---@param payload? any
function M.heard(session, page, event, payload)
  if event == "change" then
    page.painter:change(payload)
  elseif event == "replaced" then
    page.painter:replace(session.transcript)
  elseif event == "question" then
    question.raise(session, payload)
  elseif event == "decided" then
    question.settled(payload)
  elseif event == "returned" then
    page.prompt:give_back(payload)
  elseif event == "touched" or event == "ended" then
    if config.values.reload then
      files.reload()
    end
  end
  if event == "state" then
    M.bars()
  end
end

---Shows a conversation and moves the cursor into its prompt.
---@param session acp.Session
function M.show(session)
  current = session
  local page = pages[session]
  windows.show(page.painter.buf, page.prompt.buf)
  follow.to_end(windows.chat)
  M.bars()
  windows.focus()
end

---Takes the chat off the screen; turns go on.
function M.hide()
  vim.cmd("stopinsert")
  windows.close()
end

---@return boolean
function M.is_shown()
  return windows.are_here()
end

---Forgets the page of a conversation that is closed.
---@param session acp.Session
function M.forget(session)
  local page = pages[session]
  if current == session then
    current = hub.sessions()[#hub.sessions()]
    if current and windows.are_here() then
      M.show(current)
    elseif not current then
      windows.close()
    end
  end
  pages[session] = nil
  for _, buf in ipairs({ page.painter.buf, page.prompt.buf }) do
    pcall(vim.api.nvim_buf_delete, buf, { force = true })
  end
end

---Writes the bars, and goes on doing so while a turn runs.
function M.bars()
  if not current then
    return
  end
  local width = windows.width()
  if width then
    windows.bars(bar.chat(current, config.values.icons, vim.uv.hrtime(), width), bar.prompt(current))
  end
  if current.running and not ticking then
    ticking = vim.uv.new_timer() --[[@as uv.uv_timer_t]]
    ticking:start(TICK_MS, TICK_MS, vim.schedule_wrap(M.bars))
  elseif not current.running and ticking then
    ticking:close()
    ticking = nil
  end
end

---Shows some lines in a small window that the next movement closes.
---@param lines string[]
function M.popup(lines)
  vim.lsp.util.open_floating_preview(lines, "", { border = "rounded", focusable = false, title = " keys " })
end

return M
