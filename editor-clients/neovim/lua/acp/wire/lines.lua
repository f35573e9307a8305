-- Owns the cutting of a byte stream into lines at 0x0A. Pure: it knows neither processes nor JSON.

local M = {}

---@class acp.Lines
---@field private held string[] pieces of the line that is not complete
---@field private size integer
---@field private limit integer
---@field private skipping boolean
local Lines = {}
Lines.__index = Lines

---Returns an empty splitter. A line of more than `limit` bytes is dropped whole.
---@param limit integer
---@return acp.Lines
function M.new(limit)
  return setmetatable({ held = {}, size = 0, limit = limit, skipping = false }, Lines)
end

---Returns the lines that are complete with this piece, without their line ends; empty ones are left out.
---@param piece string
---@return string[]
function Lines:feed(piece)
  local found, start = {}, 1
  while true do
    local stop = piece:find("\n", start, true)
    self:_hold(piece:sub(start, (stop or 0) - 1))
    if not stop then
      return found
    end
    local line = self:_take()
    if line ~= "" then
      found[#found + 1] = line
    end
    start = stop + 1
  end
end

---@private
---@param piece string
function Lines:_hold(piece)
  if piece == "" or self.skipping then
    return
  end
  self.size = self.size + #piece
  if self.size > self.limit then
    self.skipping, self.held = true, {}
    return
  end
  self.held[#self.held + 1] = piece
end

---@private
---@return string
function Lines:_take()
  local line = self.skipping and "" or table.concat(self.held):gsub("\r$", "")
  self.held, self.size, self.skipping = {}, 0, false
  return line
end

return M
