-- Owns completion in the prompt: slash commands at its beginning, files behind `@`. Files are listed by a process of
-- their own; nothing waits for it.

local config = require("acp.config")
local mentions = require("acp.mentions")

local M = {}

local MOST_FILES = 20000
local MOST_ITEMS = 200
local FRESH_MS = 10000
local LISTERS = {
  { "git", "-c", "core.quotepath=off", "ls-files", "--cached", "--others", "--exclude-standard" },
  { "rg", "--files" },
  { "find", ".", "-type", "f", "-not", "-path", "*/.*" },
}

---@type table<string, { paths: string[], at_ms: integer, listing: boolean }>
local lists = {}
---@type table<integer, acp.Session>
local sessions = {}

---Makes a prompt complete.
---@param buf integer
---@param session acp.Session
function M.attach(buf, session)
  sessions[buf] = session
  vim.bo[buf].omnifunc = "v:lua.require'acp.ui.completion'.omni"
  if not pcall(function()
    vim.bo[buf].completeopt = "menuone,noselect,noinsert"
  end) then
    M.borrow_option(buf)
  end
  vim.api.nvim_create_autocmd({ "TextChangedI", "TextChangedP" }, {
    buffer = buf,
    callback = function()
      local chosen = vim.fn.pumvisible() == 1 and vim.fn.complete_info({ "selected" }).selected ~= -1
      if config.values.complete and not chosen then
        M.complete(buf)
      end
    end,
  })
  vim.api.nvim_create_autocmd("InsertEnter", {
    buffer = buf,
    callback = function()
      M.refresh(session.cwd)
    end,
  })
end

---Sets the option, which has no value of a buffer's own in Neovim 0.10, while text is written there.
---@param buf integer
function M.borrow_option(buf)
  local before
  vim.api.nvim_create_autocmd("InsertEnter", {
    buffer = buf,
    callback = function()
      before, vim.o.completeopt = vim.o.completeopt, "menuone,noselect,noinsert"
    end,
  })
  vim.api.nvim_create_autocmd("InsertLeave", {
    buffer = buf,
    callback = function()
      vim.o.completeopt = before or vim.o.completeopt
    end,
  })
end

---Shows what can stand at the cursor, if it is at something that completes.
---@param buf integer
function M.complete(buf)
  local session = sessions[buf]
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local line = vim.api.nvim_get_current_line():sub(1, col)
  local start, items = M.items(session, line, row == 1)
  if start and #items > 0 then
    vim.fn.complete(start + 1, items)
  end
end

---The function for the option 'omnifunc'.
---@param findstart integer
---@param _ string
---@return integer|table
function M.omni(findstart, _)
  local session = sessions[vim.api.nvim_get_current_buf()]
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local line = vim.api.nvim_get_current_line():sub(1, col)
  local start, items = M.items(session, line, row == 1)
  if findstart == 1 then
    M.found = items
    return start or -3
  end
  return M.found or {}
end

---Returns where what is to be completed begins, from 0, and what it can be; nil when nothing completes there.
---@param session acp.Session
---@param line string up to the cursor
---@param first boolean whether it is the first line
---@return integer?, table[]
function M.items(session, line, first)
  local command = first and line:match("^/(%S*)$")
  if command then
    return 0, M.commands(session.commands, command)
  end
  local mention = line:match("@([^%s@]*)$")
  local before = mention and line:sub(-#mention - 2, -#mention - 2) or ""
  if mention and (before == "" or before:match("[%s(%[]") or #line == #mention + 1) then
    M.refresh(session.cwd)
    return #line - #mention - 1, M.files((lists[session.cwd] or { paths = {} }).paths, mention)
  end
  return nil, {}
end

---@param commands acp.SlashCommand[]
---@param begun string
---@return table[]
function M.commands(commands, begun)
  local items = {}
  for _, command in ipairs(commands) do
    if vim.startswith(command.name, begun) then
      local hint = command.input and command.input.hint
      items[#items + 1] = {
        word = "/" .. command.name .. (hint and " " or ""),
        abbr = "/" .. command.name,
        menu = hint or "",
        info = command.description or "",
      }
    end
  end
  return items
end

---Returns the files that a few letters can mean: those whose name begins with them first.
---@param paths string[]
---@param begun string
---@return table[]
function M.files(paths, begun)
  local wanted, ranked = begun:lower(), {}
  for _, path in ipairs(paths) do
    local lower = path:lower()
    local rank = vim.startswith(vim.fs.basename(lower), wanted) and 1
      or vim.startswith(lower, wanted) and 2
      or lower:find(wanted, 1, true) and 3
    if rank then
      ranked[#ranked + 1] = { rank = rank, path = path }
    end
  end
  table.sort(ranked, function(one, other)
    if one.rank ~= other.rank then
      return one.rank < other.rank
    end
    return #one.path == #other.path and one.path < other.path or #one.path < #other.path
  end)
  local items = {}
  for place = 1, math.min(#ranked, MOST_ITEMS) do
    local path = ranked[place].path
    items[place] = { word = "@" .. mentions.written(path), abbr = path }
  end
  return items
end

---Lists the files of a directory again when that was long ago. Does not wait.
---@param cwd string
function M.refresh(cwd)
  local list = lists[cwd] or { paths = {}, at_ms = -FRESH_MS, listing = false }
  lists[cwd] = list
  if not list.listing and vim.uv.now() - list.at_ms >= FRESH_MS then
    list.listing = true
    M.list(cwd, list, 1)
  end
end

---@param cwd string
---@param list { paths: string[], at_ms: integer, listing: boolean }
---@param place integer which way of listing
function M.list(cwd, list, place)
  local command = LISTERS[place]
  local function over(paths)
    list.listing, list.at_ms, list.paths = false, vim.uv.now(), paths
  end
  if not command then
    return over({})
  end
  local started = pcall(vim.system, command, { cwd = cwd, text = true }, function(done)
    vim.schedule(function()
      if done.code ~= 0 then
        return M.list(cwd, list, place + 1)
      end
      local paths = vim.split(done.stdout or "", "\n", { trimempty = true })
      over(vim.tbl_map(function(path)
        return (path:gsub("^%./", ""))
      end, vim.list_slice(paths, 1, MOST_FILES)))
    end)
  end)
  if not started then
    M.list(cwd, list, place + 1)
  end
end

return M
