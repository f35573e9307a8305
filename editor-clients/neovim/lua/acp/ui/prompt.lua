-- Owns the buffer in which a prompt is written: its text, its history, its size.

local M = {}

---@class acp.Prompt
---@field buf integer
---@field private sent string[]
---@field private place integer which of the sent ones is shown; one more than there are: none
---@field private draft string
local Prompt = {}
Prompt.__index = Prompt

---@return acp.Prompt
function M.new()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].filetype = "acp-prompt"
  vim.bo[buf].bufhidden = "hide"
  pcall(vim.treesitter.start, buf, "markdown")
  return setmetatable({ buf = buf, sent = {}, place = 1, draft = "" }, Prompt)
end

---@return string
function Prompt:text()
  return vim.trim(table.concat(vim.api.nvim_buf_get_lines(self.buf, 0, -1, false), "\n"))
end

---@param text string
function Prompt:set(text)
  vim.api.nvim_buf_set_lines(self.buf, 0, -1, false, vim.split(text, "\n", { plain = true }))
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    local last = vim.api.nvim_buf_line_count(self.buf)
    vim.api.nvim_win_set_cursor(win, { last, #vim.fn.getbufline(self.buf, last)[1] })
  end
  require("acp.ui.windows").fit()
end

---Returns the text and empties the buffer; nil when there is none.
---@return string?
function Prompt:take()
  local text = self:text()
  if text == "" then
    return nil
  end
  if vim.fn.pumvisible() == 1 then
    vim.fn.complete(vim.fn.col("."), {}) -- takes the menu off the screen
  end
  self.sent[#self.sent + 1] = text
  self.place, self.draft = #self.sent + 1, ""
  self:set("")
  return text
end

---Puts texts that were not sent before what stands there.
---@param texts string[]
function Prompt:give_back(texts)
  local own = self:text()
  self:set(table.concat(own == "" and texts or vim.list_extend(vim.list_slice(texts), { own }), "\n\n"))
end

---Writes something behind what stands there.
---@param text string
function Prompt:add(text)
  local own = table.concat(vim.api.nvim_buf_get_lines(self.buf, 0, -1, false), "\n")
  local gap = (own == "" or own:match("%s$")) and "" or " "
  self:set(own .. gap .. text)
end

---Shows the prompt that was sent so many before the shown one.
---@param back integer negative: after it
function Prompt:recall(back)
  local place = math.min(math.max(1, self.place - back), #self.sent + 1)
  if place == self.place then
    return
  end
  if self.place > #self.sent then
    self.draft = self:text()
  end
  self.place = place
  self:set(self.sent[place] or self.draft)
end

return M
