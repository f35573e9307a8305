-- Owns what the agent sees of files through the editor: buffers with what is unsaved in them, the disk otherwise.
-- Reading and writing the disk never blocks.

local M = {}

local NOT_FOUND = -32002

---Returns the loaded buffer of a file, nil when there is none.
---@param path string absolute
---@return integer?
function M.buffer(path)
  local wanted = vim.uv.fs_realpath(path) or vim.fs.normalize(path)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" then
      local name = vim.api.nvim_buf_get_name(buf)
      if name == path or (name ~= "" and (vim.uv.fs_realpath(name) or vim.fs.normalize(name)) == wanted) then
        return buf
      end
    end
  end
end

local ENDS = { dos = "\r\n", mac = "\r", unix = "\n" }

---Returns the text of a buffer as it would be written.
---@param buf integer
---@return string
function M.text(buf)
  local ending = ENDS[vim.bo[buf].fileformat]
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local closed = vim.bo[buf].endofline or vim.bo[buf].fixendofline
  if #lines == 1 and lines[1] == "" then
    return ""
  end
  return table.concat(lines, ending) .. (closed and ending or "")
end

---Returns which files the person has open, and the one that was used last.
---@return { files: { path: string, unsaved: boolean }[], active?: string }
function M.open()
  local found, last = { files = {} }, -1
  for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1, bufloaded = 1 })) do
    if info.name:sub(1, 1) == "/" and vim.bo[info.bufnr].buftype == "" then
      found.files[#found.files + 1] = { path = info.name, unsaved = info.changed == 1 }
      if info.hidden == 0 and info.lastused > last then
        found.active, last = info.name, info.lastused
      end
    end
  end
  return found
end

---Answers fs/read_text_file.
---@param params { path: string, line?: integer, limit?: integer }
---@param reply acp.Reply
function M.read(params, reply)
  local function answer(text)
    if params.line or params.limit then
      local lines = vim.split(text, "\n", { plain = true })
      local first = params.line or 1
      text = table.concat(lines, "\n", first, math.min(#lines, first + (params.limit or #lines) - 1))
    end
    reply(nil, { content = text })
  end
  local buf = M.buffer(params.path)
  if buf then
    return answer(M.text(buf))
  end
  M.slurp(params.path, function(wrong, text)
    if not text then
      return reply({ code = NOT_FOUND, message = "Resource not found", data = { details = wrong } })
    end
    answer(text)
  end)
end

---Answers fs/write_text_file. An open buffer is changed where the text differs, so that marks, folds and the cursor
---stay; it is saved when nothing was unsaved before.
---@param params { path: string, content: string }
---@param reply acp.Reply
function M.write(params, reply)
  local buf = M.buffer(params.path)
  if not buf then
    return M.spew(params.path, params.content, function(wrong)
      reply(wrong and { code = -32603, message = "Internal error", data = { details = wrong } } or nil, {})
    end)
  end
  if not vim.bo[buf].modifiable then
    return reply({ code = -32603, message = "Internal error", data = { details = "The buffer is not modifiable." } })
  end
  local saved = not vim.bo[buf].modified
  M.change(buf, params.content)
  if saved and vim.bo[buf].modified then
    vim.api.nvim_buf_call(buf, function()
      vim.cmd("silent keepalt lockmarks write")
    end)
  end
  reply(nil, {})
end

---Makes the text that of the buffer, line by line where it differs.
---@param buf integer
---@param text string
function M.change(buf, text)
  local closed = text:sub(-1) == "\n"
  local plain = text:gsub("\r\n", "\n")
  local wanted = vim.split(closed and plain:sub(1, -2) or plain, "\n", { plain = true })
  local before = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n") .. "\n"
  local hunks = vim.diff(before, table.concat(wanted, "\n") .. "\n", { result_type = "indices" })
  for place = #hunks, 1, -1 do -- from the end, so that the numbers of what is left stay right
    local hunk = hunks[place]
    local first = hunk[2] == 0 and hunk[1] or hunk[1] - 1
    local lines = vim.list_slice(wanted, hunk[3], hunk[3] + hunk[4] - 1)
    vim.api.nvim_buf_set_lines(buf, first, first + hunk[2], false, lines)
  end
  if text ~= "" and closed ~= vim.bo[buf].endofline then
    vim.bo[buf].endofline = closed
    vim.bo[buf].fixendofline = closed
  end
end

---Has buffers without unsaved text read again when their files have changed.
function M.reload()
  if vim.fn.getcmdwintype() == "" then
    vim.cmd("silent! checktime")
  end
end

---Reads a file; calls back on the main loop with what went wrong, or nil and its text.
---@param path string
---@param done fun(wrong?: string, text?: string)
function M.slurp(path, done)
  done = vim.schedule_wrap(done)
  vim.uv.fs_open(path, "r", 438, function(wrong, fd)
    if not fd then
      return done(wrong)
    end
    vim.uv.fs_fstat(fd, function(_, stat)
      vim.uv.fs_read(fd, stat and stat.size or 0, 0, function(failed, text)
        vim.uv.fs_close(fd, function() end)
        done(failed, text)
      end)
    end)
  end)
end

---Writes a file; calls back on the main loop with what went wrong, if anything.
---@param path string
---@param text string
---@param done fun(wrong?: string)
function M.spew(path, text, done)
  done = vim.schedule_wrap(done)
  vim.uv.fs_open(path, "w", 420, function(wrong, fd)
    if not fd then
      return done(wrong or "cannot be opened")
    end
    vim.uv.fs_write(fd, text, 0, function(failed)
      vim.uv.fs_close(fd, function()
        done(failed)
      end)
    end)
  end)
end

return M
