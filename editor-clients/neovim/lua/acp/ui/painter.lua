-- Owns the buffer of a conversation: each block at its lines, text appended as it comes, cards changed in place. Draws
-- at most once a frame, touches only what changed, and never moves a reader who is not at the end.

local config = require("acp.config")
local folds = require("acp.ui.folds")
local follow = require("acp.ui.follow")
local format = require("acp.ui.format")
local marks = require("acp.ui.marks")

local M = {}

local FRAME_MS = 33
local LONGEST_FRAME_MS = 250
local SHARE = 4 -- drawing and what Neovim makes of it take at most this part of the time

---@class acp.Place Where a block stands; a blank line stands before each but the first.
---@field row integer its first line, from 0
---@field count integer
---@field fold boolean

---@class acp.Painter
---@field buf integer
---@field private transcript acp.Transcript
---@field private places acp.Place[]
---@field private dirty table<integer, boolean>
---@field private pending string[] what is to be appended to the last block
---@field private scheduled boolean
---@field private drawn_ms integer
---@field private frame_ms integer how long the next frame lasts at least
local Painter = {}
Painter.__index = Painter

---Returns a painter of an empty buffer of its own.
---@param transcript acp.Transcript
---@return acp.Painter
function M.new(transcript)
  local buf = vim.api.nvim_create_buf(false, true)
  local self = setmetatable({ buf = buf, scheduled = false, drawn_ms = 0, frame_ms = FRAME_MS }, Painter)
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  self:replace(transcript)
  return self
end

---Shows another conversation, whole.
---@param transcript acp.Transcript
function Painter:replace(transcript)
  self.transcript, self.places, self.dirty, self.pending = transcript, {}, {}, {}
  if not vim.api.nvim_buf_is_valid(self.buf) then
    return
  end
  local lines, found = {}, {}
  for index, block in ipairs(transcript.blocks) do
    local shape = self:_shape(block)
    if index > 1 then
      lines[#lines + 1] = ""
    end
    local row = #lines
    self.places[index] = { row = row, count = #shape.lines, fold = shape.fold }
    vim.list_extend(lines, shape.lines)
    for _, mark in ipairs(shape.marks) do
      found[#found + 1] = { row, mark }
    end
  end
  self:_edit(function()
    marks.clear(self.buf, 0, -1)
    vim.api.nvim_buf_set_lines(self.buf, 0, -1, false, lines)
    for _, mark in ipairs(found) do
      marks.set(self.buf, mark[1], mark[2])
    end
  end)
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    self:attach(win)
    follow.to_end(win)
  end
end

---Makes the folds of a window that began to show the buffer.
---@param win integer
function Painter:attach(win)
  folds.prepare(win)
  local ranges = {}
  for index, place in ipairs(self.places) do
    if place.fold and self:_is_over(index) then
      ranges[#ranges + 1] = { place.row + 1, place.row + place.count }
    end
  end
  folds.rebuild(win, ranges)
end

---Takes a change; it is drawn with the next frame.
---@param change acp.Change
function Painter:change(change)
  local appends = change.how == "append" and change.index == #self.transcript.blocks and change.index == #self.places
  if appends and not self.dirty[change.index] then
    self.pending[#self.pending + 1] = change.text
  else
    self.dirty[change.index] = true
  end
  if not self.scheduled then
    self.scheduled = true
    local wait = math.max(0, self.frame_ms - (vim.uv.now() - self.drawn_ms))
    vim.defer_fn(function()
      self:draw()
    end, wait)
  end
end

---Draws what has changed since it was last called.
function Painter:draw()
  self.scheduled, self.drawn_ms = false, vim.uv.now()
  if not vim.api.nvim_buf_is_valid(self.buf) then
    return
  end
  local following = follow.windows(self.buf)
  local dirty, pending = self.dirty, table.concat(self.pending)
  self.dirty, self.pending = {}, {}
  self:_edit(function()
    if pending ~= "" and not dirty[#self.places] then
      self:_append(pending)
    end
    for _, index in ipairs(M.sorted(dirty)) do
      self:_put(index)
    end
  end)
  for _, win in ipairs(following) do
    follow.to_end(win)
  end
  self:_pace(vim.uv.hrtime())
end

---Sees how long Neovim takes to show what was drawn: frames of a long conversation last longer, so that typing stays
---quick.
---@private
---@param drawn_ns integer
function Painter:_pace(drawn_ns)
  vim.defer_fn(function()
    local shown_ms = (vim.uv.hrtime() - drawn_ns) / 1e6
    self.frame_ms = math.floor(math.min(LONGEST_FRAME_MS, math.max(FRAME_MS, SHARE * shown_ms)))
  end, 1)
end

---Returns the block that stands at a line, and its place; nil between blocks.
---@param row integer from 0
---@return acp.Block?, acp.Place?
function Painter:at(row)
  for index = #self.places, 1, -1 do
    local place = self.places[index]
    if place.row <= row then
      return self.transcript.blocks[index], place
    end
  end
end

---Returns the lines, from 1, where the person's prompts begin.
---@return integer[]
function Painter:prompts()
  local found = {}
  for index, block in ipairs(self.transcript.blocks) do
    if block.kind == "user" and self.places[index] then
      found[#found + 1] = self.places[index].row + 1
    end
  end
  return found
end

---@param set table<integer, boolean>
---@return integer[]
function M.sorted(set)
  local found = vim.tbl_keys(set)
  table.sort(found)
  return found
end

---@private
---@param index integer
---@return boolean
function Painter:_is_over(index)
  local block = self.transcript.blocks[index]
  return block.kind ~= "thought" or block.closed or false
end

---@private
---@param block acp.Block
---@return acp.Shape
function Painter:_shape(block)
  return format.block(block, config.values, function(path)
    return self.transcript:path(path)
  end)
end

---@private
---@param body fun()
function Painter:_edit(body)
  vim.bo[self.buf].modifiable = true
  body()
  vim.bo[self.buf].modifiable = false
  vim.bo[self.buf].modified = false
end

---@private
---@param text string
function Painter:_append(text)
  local place = self.places[#self.places]
  local lines = format.more(self.transcript.blocks[#self.places], text)
  local row = place.row + place.count - 1
  local line = vim.api.nvim_buf_get_lines(self.buf, row, row + 1, false)[1]
  vim.api.nvim_buf_set_text(self.buf, row, #line, row, #line, lines)
  place.count = place.count + #lines - 1
end

---Writes a block where it stands, or behind the last one when it is not there yet.
---@private
---@param index integer
function Painter:_put(index)
  local block, place = self.transcript.blocks[index], self.places[index]
  local shape = self:_shape(block)
  if not place then
    local empty = #self.places == 0
    local row = empty and 0 or vim.api.nvim_buf_line_count(self.buf)
    local lines = empty and shape.lines or vim.list_extend({ "" }, shape.lines)
    vim.api.nvim_buf_set_lines(self.buf, row, -1, false, lines)
    place = { row = empty and 0 or row + 1, count = #shape.lines, fold = false }
    self.places[index] = place
  else
    self:_rewrite(index, shape)
  end
  for _, mark in ipairs(shape.marks) do
    marks.set(self.buf, place.row, mark)
  end
  self:_fold(index, shape.fold and self:_is_over(index))
end

---@private
---@param index integer
---@param shape acp.Shape
function Painter:_rewrite(index, shape)
  local place = self.places[index]
  marks.clear(self.buf, place.row, place.row + place.count)
  local old = vim.api.nvim_buf_get_lines(self.buf, place.row, place.row + place.count, false)
  local same = 0 -- leading lines that stay: a stream of output leaves its card's title alone
  while same < math.min(#old, #shape.lines) and old[same + 1] == shape.lines[same + 1] do
    same = same + 1
  end
  if same < #old or same < #shape.lines then
    local rest = vim.list_slice(shape.lines, same + 1)
    vim.api.nvim_buf_set_lines(self.buf, place.row + same, place.row + #old, false, rest)
  end
  local grown = #shape.lines - place.count
  place.count = #shape.lines
  if grown ~= 0 then
    for later = index + 1, #self.places do
      self.places[later].row = self.places[later].row + grown
    end
  end
end

---@private
---@param index integer
---@param wanted boolean
function Painter:_fold(index, wanted)
  local place = self.places[index]
  local had = place.fold
  place.fold = wanted
  if not wanted and not had then
    return
  end
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    local was_closed
    if had then
      was_closed = folds.remove(win, place.row + 1)
    end
    local row = vim.api.nvim_win_get_cursor(win)[1] - 1
    local reading = win == vim.api.nvim_get_current_win() and row >= place.row and row < place.row + place.count
    if wanted and was_closed ~= false and not reading then
      folds.close(win, place.row + 1, place.row + place.count)
    end
  end
end

return M
