-- Owns the showing of a call's edits by Neovim's diff: the file as it is on the left, as it is to be on the right, each
-- file in a tab page of its own.

local changes = require("acp.ui.changes")
local config = require("acp.config")
local files = require("acp.files")
local keys = require("acp.ui.keys")

local M = {}

---@type table<string, integer[]> tab pages by call
local shown = {}

---Shows the edits of a call. `proposed` holds them against the files as they are; else the texts are the call's own.
---@param call acp.ToolCall
---@param proposed boolean
---@param actions table<string, fun()>
function M.show(call, proposed, actions)
  M.hide(call.toolCallId)
  local tabs = {}
  for _, file in ipairs(changes.by_file(call)) do
    local open = function(old, new)
      tabs[#tabs + 1] = M.tab(file.path, old, new, actions)
    end
    local text = proposed and M.current(file.path)
    local after = proposed and changes.proposed(text, file.diffs)
    if after then
      open(text or "", after)
    else
      for _, diff in ipairs(file.diffs) do
        open(diff.oldText or "", diff.newText or "")
      end
    end
  end
  shown[call.toolCallId] = tabs
end

---Returns whether the edits of a call are shown.
---@param id string
---@return boolean
function M.is_shown(id)
  for _, tab in ipairs(shown[id] or {}) do
    if vim.api.nvim_tabpage_is_valid(tab) then
      return true
    end
  end
  return false
end

---Takes the edits of a call off the screen.
---@param id string
function M.hide(id)
  for _, tab in ipairs(shown[id] or {}) do
    if vim.api.nvim_tabpage_is_valid(tab) and #vim.api.nvim_list_tabpages() > 1 then
      vim.cmd(vim.api.nvim_tabpage_get_number(tab) .. "tabclose")
    end
  end
  shown[id] = nil
end

---Returns the text of a file, what is unsaved included; nil when there is none.
---@param path string
---@return string?
function M.current(path)
  local buf = files.buffer(path)
  if buf then
    return files.text(buf)
  end
  local read, lines = pcall(vim.fn.readblob, path)
  return read and lines or nil
end

---@param path string
---@param old string
---@param new string
---@param actions table<string, fun()>
---@return integer tab page
function M.tab(path, old, new, actions)
  local kind = vim.filetype.match({ filename = path, contents = vim.split(new, "\n", { plain = true }) })
  vim.cmd("tabnew")
  local tab, empty = vim.api.nvim_get_current_tabpage(), vim.api.nvim_get_current_buf()
  M.side(0, path, "now", old, kind, actions)
  vim.bo[empty].bufhidden = "wipe"
  pcall(vim.api.nvim_buf_delete, empty, {})
  vim.cmd("rightbelow vsplit")
  M.side(0, path, "proposed", new, kind, actions)
  vim.cmd("silent! normal! gg]czz")
  return tab
end

---@param win integer
---@param path string
---@param which "now"|"proposed"
---@param text string
---@param kind? string
---@param actions table<string, fun()>
function M.side(win, path, which, text, kind, actions)
  local buf = vim.api.nvim_create_buf(false, true)
  local lines = vim.split((text:gsub("\r\n", "\n"):gsub("\n$", "")), "\n", { plain = true })
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  pcall(vim.api.nvim_buf_set_name, buf, ("acp://%s/%d/%s"):format(which, buf, vim.fs.basename(path)))
  vim.bo[buf].modifiable = false
  vim.bo[buf].bufhidden = "wipe"
  if kind then
    vim.bo[buf].filetype = kind
  end
  vim.api.nvim_win_set_buf(win, buf)
  vim.api.nvim_set_option_value("winbar", (" %s: %s"):format(which, vim.fs.basename(path):gsub("%%", "%%%%")), {
    scope = "local",
    win = win,
  })
  vim.api.nvim_win_call(win, function()
    vim.cmd("diffthis")
  end)
  keys.map(buf, config.values.keys.diff, actions)
end

return M
