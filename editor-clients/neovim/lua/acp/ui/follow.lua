-- Owns which windows go on with what is written: those whose cursor is at the end.

local M = {}

---Returns the windows of a buffer that are at its end.
---@param buf integer
---@return integer[]
function M.windows(buf)
  local last = vim.api.nvim_buf_line_count(buf)
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_cursor(win)[1] >= last
  end, vim.fn.win_findbuf(buf))
end

---Moves a window to the end of its buffer.
---@param win integer
function M.to_end(win)
  local buf = vim.api.nvim_win_get_buf(win)
  local last = vim.api.nvim_buf_line_count(buf)
  local line = vim.api.nvim_buf_get_lines(buf, last - 1, last, false)[1]
  vim.api.nvim_win_set_cursor(win, { last, #line })
end

return M
