-- Owns the moment at which something may take the keys: nobody has typed for a while, in normal mode or in an empty
-- prompt. Keys are watched only while something waits for that moment.

local config = require("acp.config")

local M = {}

local LOOK_MS = 100
local space = vim.api.nvim_create_namespace("acp.keys")

---@type fun(free: fun())[]
local waiting = {}
---@type uv.uv_timer_t?
local timer
local last_key_ms = 0
local taken = false

---Calls back when the keys may be taken, one caller after the other; the next one once `free` was called.
---@param take fun(free: fun())
function M.when(take)
  waiting[#waiting + 1] = take
  if timer then
    return
  end
  last_key_ms = vim.uv.now()
  vim.on_key(function()
    last_key_ms = vim.uv.now()
  end, space)
  timer = vim.uv.new_timer() --[[@as uv.uv_timer_t]]
  timer:start(LOOK_MS, LOOK_MS, vim.schedule_wrap(M.look))
end

---Gives the keys to the first that waits, if they are free.
function M.look()
  if taken or not timer or not M.is_free(vim.uv.now() - last_key_ms) then
    return
  end
  local take = table.remove(waiting, 1)
  if #waiting == 0 then
    timer:close()
    timer = nil
    vim.on_key(nil, space)
  end
  taken = true
  take(function()
    taken = false
  end)
end

---Returns whether the keys are free after so long without one.
---@param idle_ms integer
---@return boolean
function M.is_free(idle_ms)
  local mode = vim.api.nvim_get_mode()
  if mode.blocking or idle_ms < config.values.idle_ms or vim.fn.getcmdwintype() ~= "" then
    return false
  end
  if mode.mode == "n" then
    return true
  end
  local lines = vim.api.nvim_buf_get_lines(0, 0, 2, false)
  return mode.mode == "i" and vim.bo.filetype == "acp-prompt" and #lines == 1 and lines[1] == ""
end

return M
