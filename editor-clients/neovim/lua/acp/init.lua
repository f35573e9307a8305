-- Owns what a person's configuration may call: setup, the status line, and a prompt from Lua.

local M = {}

local wired = false

---Sets the plugin up; see |acp-settings|. Calling it is needed only to change settings.
---@param settings? table
function M.setup(settings)
  require("acp.config").setup(settings)
end

---Connects the parts that know nothing of each other. Called at the first `:Acp`.
function M.wire()
  if wired then
    return
  end
  wired = true
  local chat, hub = require("acp.ui.chat"), require("acp.hub")
  require("acp.ui.colours").define()
  hub.person.opened = chat.adopt
  hub.person.login = require("acp.ui.login").ask
  hub.person.form = require("acp.ui.form").serve
  chat.actions = require("acp.actions")
  local group = vim.api.nvim_create_augroup("acp", {})
  vim.api.nvim_create_autocmd("VimLeavePre", { group = group, callback = hub.shutdown })
  vim.api.nvim_create_autocmd("ColorScheme", { group = group, callback = require("acp.ui.colours").define })
end

---Runs `:Acp`.
---@param given table
function M.command(given)
  M.wire()
  require("acp.commands").run(given)
end

---Sends a prompt to the conversation that is shown, or to a new one.
---@param text string
function M.prompt(text)
  M.wire()
  require("acp.actions").send(text)
end

---Returns what the conversation is at, for the person's own status line.
---@return string
function M.statusline()
  if not wired then
    return ""
  end
  local icons = require("acp.config").values.icons
  return require("acp.ui.bar").line(require("acp.ui.chat").current(), icons, vim.uv.hrtime())
end

return M
