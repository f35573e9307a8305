-- Owns the folds of a chat. They are made by hand for each window: Neovim computes no folds while a person types in
-- another window, and that is when a chat grows.

local marks = require("acp.ui.marks")

local M = {}

---Does something in a window with its cursor and view kept.
---@param win integer
---@param body fun()
local function inside(win, body)
  vim.api.nvim_win_call(win, function()
    local view = vim.fn.winsaveview()
    body()
    vim.fn.winrestview(view)
  end)
end

---Makes the options of a window those that the folds need.
---@param win integer
function M.prepare(win)
  local function set(name, value)
    vim.api.nvim_set_option_value(name, value, { scope = "local", win = win })
  end
  set("foldmethod", "manual")
  set("foldenable", true)
  set("foldlevel", 0)
  set("foldtext", "v:lua.require'acp.ui.folds'.text()")
  set("fillchars", "fold: ,eob: ")
end

---Closes a fold over some lines.
---@param win integer
---@param first integer from 1
---@param last integer
function M.close(win, first, last)
  if last > first then
    inside(win, function()
      pcall(vim.cmd, ("silent %d,%dfold"):format(first, last))
    end)
  end
end

---Takes away the fold that begins at a line; returns whether it was closed, nil when there was none.
---@param win integer
---@param first integer from 1
---@return boolean?
function M.remove(win, first)
  local was
  inside(win, function()
    if vim.fn.foldlevel(first) > 0 then
      was = vim.fn.foldclosed(first) > 0
      vim.api.nvim_win_set_cursor(win, { first, 0 })
      pcall(vim.cmd, "silent normal! zD")
    end
  end)
  return was
end

---Makes all folds anew, closed.
---@param win integer
---@param ranges { [1]: integer, [2]: integer }[]
function M.rebuild(win, ranges)
  inside(win, function()
    pcall(vim.cmd, "silent normal! zE")
    for _, range in ipairs(ranges) do
      if range[2] > range[1] then
        pcall(vim.cmd, ("silent %d,%dfold"):format(range[1], range[2]))
      end
    end
  end)
end

---Returns the line of a closed fold: its first line, and how much is behind it.
---@return { [1]: string, [2]: string }[]
function M.text()
  local first, last = vim.v.foldstart, vim.v.foldend
  local line = vim.fn.getline(first) --[[@as string]]
  local title = line:match("^> _(.*)_$") or line:gsub("`+ ?(.-) ?`+", "%1", 1)
  local count = last - first == 1 and "  1 line" or ("  %d lines"):format(last - first)
  local icon, rest = title:match("^([^%w%s]+)( .*)$")
  if icon and not line:match("^>") then
    return { { icon, marks.at(0, first - 1) or "AcpTitle" }, { rest, "AcpTitle" }, { count, "AcpFold" } }
  end
  return { { "▸ " .. title, "AcpThought" }, { count, "AcpFold" } }
end

return M
