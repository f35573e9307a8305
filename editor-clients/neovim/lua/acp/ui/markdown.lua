-- Owns how foreign text stands in Markdown without breaking what is around it. Pure.

local M = {}

---Returns the line that closes a code block that the text leaves open, nil when it leaves none.
---@param text string
---@return string?
function M.open_fence(text)
  local open
  for line in vim.gsplit(text, "\n", { plain = true }) do
    local indent, ticks, rest = line:match("^( *)(```+)(.*)$")
    if not ticks then
      indent, ticks, rest = line:match("^( *)(~~~+)(.*)$")
    end
    if ticks and #indent < 4 then
      if not open then
        open = (ticks:sub(1, 1) == "~" or not rest:find("`", 1, true)) and ticks or nil
      elseif ticks:sub(1, 1) == open:sub(1, 1) and #ticks >= #open and rest:match("^%s*$") then
        open = nil
      end
    end
  end
  return open
end

---Returns a fence that no line of the text can close.
---@param text string
---@return string
function M.fence(text)
  local longest = 2
  for ticks in text:gmatch("```+") do
    longest = math.max(longest, #ticks)
  end
  return ("`"):rep(longest + 1)
end

---Returns a text of one line as a code span.
---@param text string
---@return string
function M.span(text)
  local longest = 0
  for ticks in text:gmatch("`+") do
    longest = math.max(longest, #ticks)
  end
  local ticks = ("`"):rep(longest + 1)
  local pad = longest > 0 and " " or ""
  return ticks .. pad .. text .. pad .. ticks
end

---Returns one line: line ends and control characters become blanks.
---@param text string
---@return string
function M.line(text)
  return vim.trim((text:gsub("%c+", " ")))
end

return M
