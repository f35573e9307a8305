-- Owns what differs between two texts, and what a file would be after a proposed change. Pure.

local M = {}

local CONTEXT_LINES = 3

---Returns a text that ends in a line feed, as a comparison of lines wants it.
---@param text string
---@return string
local function closed(text)
  return (text == "" or text:sub(-1) == "\n") and text or text .. "\n"
end

---Returns a unified diff as lines, with three lines around each change.
---@param old string
---@param new string
---@return string[]
function M.unified(old, new)
  local diff = vim.diff(closed(old), closed(new), { ctxlen = CONTEXT_LINES }) --[[@as string]]
  return vim.split((diff:gsub("\n$", "")), "\n", { plain = true })
end

---Returns how many lines are added and taken away.
---@param old string
---@param new string
---@return integer added, integer removed
function M.count(old, new)
  local added, removed = 0, 0
  for _, hunk in
    ipairs(vim.diff(closed(old), closed(new), { result_type = "indices" }) --[[@as integer[][] ]])
  do
    added, removed = added + hunk[4], removed + hunk[2]
  end
  return added, removed
end

---Returns a file's text after the diffs that are proposed for it, nil when they do not fit it.
---A diff may name the whole text or a piece that stands in it once.
---@param text? string what the file is, nil when there is none
---@param diffs acp.ToolContent[]
---@return string?
function M.proposed(text, diffs)
  for _, diff in ipairs(diffs) do
    local old, new = diff.oldText, diff.newText or ""
    if not old or old == "" or old == text then
      text = new
    else
      local first, last = (text or ""):find(old, 1, true)
      if not first or not text or not last then
        return nil
      end
      text = text:sub(1, first - 1) .. new .. text:sub(last + 1)
    end
  end
  return text
end

---Returns the diffs of a call by file, in the order in which the files are named.
---@param call acp.ToolCall
---@return { path: string, diffs: acp.ToolContent[] }[]
function M.by_file(call)
  local found, places = {}, {}
  for _, content in ipairs(call.content or {}) do
    if content.type == "diff" and content.path then
      if not places[content.path] then
        places[content.path] = #found + 1
        found[#found + 1] = { path = content.path, diffs = {} }
      end
      table.insert(found[places[content.path]].diffs, content)
    end
  end
  return found
end

return M
