-- Owns what `@path` means in a prompt: the text as content blocks, with links to files and pieces of them. Pure: what
-- exists is asked of the caller.

local M = {}

---@class acp.Looker
---@field file fun(path: string): string? the absolute path of a file or folder that exists
---@field lines fun(path: string, first: integer, last: integer): string? lines of it, unsaved ones too

---Returns the blocks of a prompt. `@path` becomes a link, `@path:3-9` the lines themselves, both in their place.
---@param text string
---@param look acp.Looker
---@return acp.ContentBlock[]
function M.blocks(text, look)
  local blocks, start, from = {}, 1, 1
  while true do
    local at = text:find("@", from, true)
    if not at then
      break
    end
    local block, after = M.mention(text, at, look)
    if block then
      M.add_text(blocks, text:sub(start, at - 1))
      blocks[#blocks + 1] = block
      start = after
    end
    from = math.max(after, at + 1)
  end
  M.add_text(blocks, text:sub(start))
  return blocks
end

---Returns the block of the mention at a place and where it ends, or nil and where to look on.
---@param text string
---@param at integer
---@param look acp.Looker
---@return acp.ContentBlock?, integer
function M.mention(text, at, look)
  if at > 1 and not text:sub(at - 1, at - 1):match("[%s(%[]") then
    return nil, at + 1
  end
  local quoted = text:match('^"([^"\n]+)"', at + 1)
  local word = quoted or text:match("^%S+", at + 1)
  if not word then
    return nil, at + 1
  end
  local length = #word + (quoted and 2 or 0)
  while word ~= "" do
    local block = M.link(word, look)
    if block then
      return block, at + 1 + length
    end
    local shorter = word:match("^(.*)[%.,;:!%?%)%]'\"]$")
    if quoted or not shorter then
      break
    end
    word, length = shorter, #shorter
  end
  return nil, at + 1
end

---Returns the block for a path, or for some of its lines; nil when there is no such file.
---@param word string
---@param look acp.Looker
---@return acp.ContentBlock?
function M.link(word, look)
  local path, first, last = word:match("^(.+):(%d+)%-?(%d*)$")
  local file = path and look.file(path)
  if file then
    local from, to = tonumber(first), tonumber(last ~= "" and last or first)
    local lines = look.lines(file, from --[[@as integer]], to --[[@as integer]])
    if lines then
      local uri = ("%s#L%d-L%d"):format(vim.uri_from_fname(file), from, to)
      return { type = "resource", resource = { uri = uri, mimeType = "text/plain", text = lines } }
    end
  end
  file = look.file(word)
  return file and { type = "resource_link", uri = vim.uri_from_fname(file), name = vim.fs.basename(file) } or nil
end

---Returns a path as it is written behind `@`.
---@param path string
---@return string
function M.written(path)
  return path:find("%s") and ('"%s"'):format(path) or path
end

---@param blocks acp.ContentBlock[]
---@param text string
function M.add_text(blocks, text)
  if text ~= "" then
    blocks[#blocks + 1] = { type = "text", text = text }
  end
end

return M
