-- Owns the way of lines from the reader's callback to the main loop: in order, and a slice of time at once, so that a
-- flood of lines leaves the editor responsive.

local M = {}

local SLICE_NS = 8 * 1000 * 1000

---@class acp.Inbox
---@field private lines string[]
---@field private first integer
---@field private last integer
---@field private scheduled boolean
---@field private take fun(line: string)
---@field private finally? fun()
local Inbox = {}
Inbox.__index = Inbox

---@param take fun(line: string) called on the main loop for each line
---@return acp.Inbox
function M.new(take)
  return setmetatable({ lines = {}, first = 1, last = 0, scheduled = false, take = take }, Inbox)
end

---Keeps lines for the main loop. May be called from any callback.
---@param lines string[]
function Inbox:put(lines)
  for _, line in ipairs(lines) do
    self.last = self.last + 1
    self.lines[self.last] = line
  end
  if #lines > 0 then
    self:_schedule()
  end
end

---Calls `finally` once all lines are taken.
---@param finally fun()
function Inbox:close(finally)
  self.finally = finally
  self:_schedule()
end

---@private
function Inbox:_schedule()
  if not self.scheduled then
    self.scheduled = true
    vim.schedule(function()
      self:_drain()
    end)
  end
end

---Goes on after input and timers had their turn: what is scheduled from the main loop runs before them.
---@private
function Inbox:_rest()
  self.scheduled = true
  vim.defer_fn(function()
    self:_drain()
  end, 1)
end

---@private
function Inbox:_drain()
  self.scheduled = false
  local stop = vim.uv.hrtime() + SLICE_NS
  while self.first <= self.last do
    local line = self.lines[self.first]
    self.lines[self.first] = nil
    self.first = self.first + 1
    local fine, wrong = pcall(self.take, line)
    if not fine then
      vim.notify("acp: " .. tostring(wrong), vim.log.levels.ERROR)
    end
    if vim.uv.hrtime() > stop and self.first <= self.last then
      return self:_rest()
    end
  end
  local finally = self.finally
  if finally then
    self.finally = nil
    finally()
  end
end

return M
