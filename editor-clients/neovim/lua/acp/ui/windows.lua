-- Owns the two windows of the chat: where they are, and which buffers they show.

local config = require("acp.config")

local M = {}

---@type integer?
M.chat = nil
---@type integer?
M.prompt = nil

---Returns whether both windows are on this tab page.
---@return boolean
function M.are_here()
  local function here(win)
    return win ~= nil
      and vim.api.nvim_win_is_valid(win)
      and vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage()
  end
  return here(M.chat) and here(M.prompt)
end

---Shows two buffers, in windows that are opened where there are none.
---@param chat integer
---@param prompt integer
function M.show(chat, prompt)
  if not M.are_here() then
    M.close()
    M.open(chat, prompt)
  end
  vim.api.nvim_win_set_buf(M.chat, chat)
  vim.api.nvim_win_set_buf(M.prompt, prompt)
  M.dress(
    M.chat,
    { conceallevel = config.values.conceal, concealcursor = "nc", winfixwidth = config.values.position ~= "bottom" }
  )
  M.dress(M.prompt, { winfixheight = true, fillchars = "eob: " })
  M.fit()
end

---Makes the prompt as high as its text, between what the settings say and half of the chat.
function M.fit()
  if not M.are_here() then
    return
  end
  local needed = vim.api.nvim_win_text_height(M.prompt, {}).all + 1 -- the bar is a line of the window
  local most = math.floor((vim.api.nvim_win_get_height(M.chat) + vim.api.nvim_win_get_height(M.prompt)) / 2)
  local height = math.max(config.values.prompt_height, math.min(needed, most))
  if height ~= vim.api.nvim_win_get_height(M.prompt) then
    vim.api.nvim_win_set_height(M.prompt, height)
  end
end

---Closes both windows; the buffers stay.
function M.close()
  for _, win in ipairs({ M.prompt or -1, M.chat or -1 }) do
    if vim.api.nvim_win_is_valid(win) then
      if not pcall(vim.api.nvim_win_close, win, true) then
        vim.api.nvim_win_call(win, function()
          vim.cmd("enew") -- the last window stays, without the chat
        end)
      end
    end
  end
  M.chat, M.prompt = nil, nil
end

---Moves the cursor into the prompt, ready to write.
function M.focus()
  if M.prompt and vim.api.nvim_win_is_valid(M.prompt) then
    vim.api.nvim_set_current_win(M.prompt)
    vim.cmd("startinsert!")
  end
end

---@param chat integer
---@param prompt integer
function M.open(chat, prompt)
  local position = config.values.position
  if position == "tab" then
    vim.cmd("tabnew")
    local empty = vim.api.nvim_get_current_buf()
    vim.api.nvim_win_set_buf(0, chat)
    pcall(vim.api.nvim_buf_delete, empty, {})
  else
    local size = M.size(position == "bottom" and vim.o.lines or vim.o.columns)
    local where = { right = "botright vertical", left = "topleft vertical", bottom = "botright" }
    vim.cmd(("%s %dsplit"):format(where[position], size))
    vim.api.nvim_win_set_buf(0, chat)
  end
  M.chat = vim.api.nvim_get_current_win()
  vim.cmd(("rightbelow %dsplit"):format(config.values.prompt_height))
  M.prompt = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(M.prompt, prompt)
end

---@param whole integer
---@return integer
function M.size(whole)
  local size = config.values.size
  return math.floor(size < 1 and whole * size or size)
end

local PLAIN = {
  number = false,
  relativenumber = false,
  signcolumn = "no",
  foldcolumn = "0",
  spell = false,
  list = false,
  cursorline = false,
  colorcolumn = "",
  statuscolumn = "",
  wrap = true,
  linebreak = true,
  breakindent = true,
}

---@param win integer
---@param more table<string, any>
function M.dress(win, more)
  for name, value in pairs(vim.tbl_extend("force", PLAIN, more)) do
    vim.api.nvim_set_option_value(name, value, { scope = "local", win = win })
  end
end

---Returns the columns of the chat, nil when it is not shown.
---@return integer?
function M.width()
  return M.chat and vim.api.nvim_win_is_valid(M.chat) and vim.api.nvim_win_get_width(M.chat) or nil
end

---Writes the bars over the windows.
---@param chat string
---@param prompt string
function M.bars(chat, prompt)
  for win, text in pairs({ [M.chat or -1] = chat, [M.prompt or -1] = prompt }) do
    if win > 0 and vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_set_option_value("winbar", text, { scope = "local", win = win })
    end
  end
end

return M
