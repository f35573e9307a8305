-- Owns the colours of a chat's lines beyond those of Markdown, as extmarks.

local M = {}

M.space = vim.api.nvim_create_namespace("acp.chat")

local WHOLE = { AcpUser = true, AcpUserTitle = true, AcpAddedLine = true, AcpRemovedLine = true }

---Colours what a mark says.
---@param buf integer
---@param row integer where its block begins, from 0
---@param mark acp.Mark
function M.set(buf, row, mark)
  local at, options = row + mark.row, nil
  if mark.col then
    options = { end_col = mark.stop, hl_group = mark.group, priority = 200 }
  elseif WHOLE[mark.group] then
    options = { line_hl_group = mark.group, priority = 50 }
  else
    options = { end_row = at + 1, end_col = 0, hl_group = mark.group, priority = 200, strict = false }
  end
  vim.api.nvim_buf_set_extmark(buf, M.space, at, mark.col or 0, options)
end

---Takes the colours of some lines away.
---@param buf integer
---@param first integer from 0
---@param last integer behind the last one; -1 is the end
function M.clear(buf, first, last)
  vim.api.nvim_buf_clear_namespace(buf, M.space, first, last)
end

---Returns the colour at the beginning of a line.
---@param buf integer
---@param row integer from 0
---@return string?
function M.at(buf, row)
  local found = vim.api.nvim_buf_get_extmarks(buf, M.space, { row, 0 }, { row, 0 }, { details = true })
  return found[1] and found[1][4].hl_group --[[@as string?]]
end

return M
