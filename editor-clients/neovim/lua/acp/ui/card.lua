-- Owns how a tool call reads: its title with its state, what it did, its diffs, and what is asked about it. Pure.

local changes = require("acp.ui.changes")
local markdown = require("acp.ui.markdown")

local M = {}

local OVER = { completed = true, failed = true }
local STATES = { pending = "AcpPending", in_progress = "AcpActive", completed = "AcpCompleted", failed = "AcpFailed" }

---@param block acp.Block
---@param options acp.Config
---@param path fun(path: string): string
---@return acp.Shape
function M.shape(block, options, path)
  local call = block.call --[[@as acp.ToolCall]]
  local shape = { lines = {}, marks = {}, fold = options.folds.tools and OVER[call.status] or false }
  M.title(shape, call, options)
  if block.question and block.question.answer then
    M.question(shape, block.question, options)
  end
  for _, content in ipairs(call.content or {}) do
    if content.type == "diff" then
      M.diff(shape, content, options, path)
    elseif content.type == "content" and content.content and content.content.type == "text" then
      M.output(shape, content.content.text or "", OVER[call.status] and options.output_lines or options.live_lines)
    elseif content.content then
      shape.lines[#shape.lines + 1] = ("_%s %s_"):format(content.content.type, content.content.mimeType or "")
    end
  end
  if block.question and not block.question.answer then
    M.question(shape, block.question, options)
  end
  return shape
end

---@param shape acp.Shape
---@param call acp.ToolCall
---@param options acp.Config
function M.title(shape, call, options)
  local status = call.status or "pending"
  local icon = options.icons[status] or options.icons.pending
  local added, removed = M.totals(call)
  local counts = added + removed > 0 and (" +%d -%d"):format(added, removed) or ""
  local title = markdown.line(call.title or call.kind or "tool")
  local line = ("%s %s%s"):format(icon, markdown.span(title ~= "" and title or "tool"), counts)
  shape.lines[1] = line
  shape.marks[1] = { row = 0, group = STATES[status] or "AcpPending", col = 0, stop = #icon }
  if counts ~= "" then
    local plus = #line - #counts + 1
    local minus = plus + #("+%d"):format(added) + 1
    table.insert(shape.marks, { row = 0, group = "AcpAdded", col = plus, stop = minus - 1 })
    table.insert(shape.marks, { row = 0, group = "AcpRemoved", col = minus, stop = #line })
  end
end

---Returns how many lines a call adds and takes away, by its diffs.
---@param call acp.ToolCall
---@return integer added, integer removed
function M.totals(call)
  local added, removed = 0, 0
  for _, content in ipairs(call.content or {}) do
    if content.type == "diff" then
      local plus, minus = changes.count(content.oldText or "", content.newText or "")
      added, removed = added + plus, removed + minus
    end
  end
  return added, removed
end

---@param shape acp.Shape
---@param content acp.ToolContent
---@param options acp.Config
---@param path fun(path: string): string
function M.diff(shape, content, options, path)
  local unified = changes.unified(content.oldText or "", content.newText or "")
  local lines = M.cut(unified, options.output_lines)
  local fence = markdown.fence(table.concat(lines, "\n"))
  local heads = { fence .. "diff", (content.oldText and "" or "new file ") .. path(content.path or "?") }
  vim.list_extend(shape.lines, heads)
  table.insert(shape.marks, { row = #shape.lines - 1, group = "AcpPath" })
  for _, line in ipairs(lines) do
    shape.lines[#shape.lines + 1] = line
    local first = line:sub(1, 1)
    local group = first == "+" and "AcpAddedLine" or first == "-" and "AcpRemovedLine" or first == "@" and "AcpHunk"
    if group then
      table.insert(shape.marks, { row = #shape.lines - 1, group = group })
    end
  end
  shape.lines[#shape.lines + 1] = fence
end

---@param shape acp.Shape
---@param text string
---@param limit integer
function M.output(shape, text, limit)
  local lines = vim.split(text:gsub("\r\n?", "\n"):gsub("\n+$", ""), "\n", { plain = true })
  if #lines == 1 and lines[1] == "" then
    return
  end
  local fence = markdown.fence(text)
  shape.lines[#shape.lines + 1] = fence .. "text"
  vim.list_extend(shape.lines, M.tail(lines, limit))
  shape.lines[#shape.lines + 1] = fence
end

---@param shape acp.Shape
---@param question { words: string, answer?: string }
---@param options acp.Config
function M.question(shape, question, options)
  local words = markdown.line(question.words)
  local line = question.answer and ("→ %s"):format(markdown.line(question.answer))
    or ("%s %s"):format(options.icons.question, words)
  shape.lines[#shape.lines + 1] = line
  table.insert(shape.marks, { row = #shape.lines - 1, group = question.answer and "AcpInfo" or "AcpQuestion" })
end

---Returns the first lines, and how many there are more.
---@param lines string[]
---@param limit integer
---@return string[]
function M.cut(lines, limit)
  if #lines <= limit then
    return lines
  end
  local kept = vim.list_slice(lines, 1, limit)
  kept[#kept + 1] = ("… %d more lines"):format(#lines - limit)
  return kept
end

---Returns the last lines, and how many there are before them.
---@param lines string[]
---@param limit integer
---@return string[]
function M.tail(lines, limit)
  if #lines <= limit then
    return lines
  end
  local kept = vim.list_slice(lines, #lines - limit + 1)
  table.insert(kept, 1, ("… %d lines before"):format(#lines - limit))
  return kept
end

return M
