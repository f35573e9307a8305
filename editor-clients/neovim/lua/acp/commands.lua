-- Owns `:Acp`: its words, their arguments, and how they complete.

local actions = require("acp.actions")
local chat = require("acp.ui.chat")

local M = {}

---@class acp.Word
---@field run fun(rest?: string, given: table)
---@field complete? fun(): string[]

---@param option? acp.Option
---@return string[]
local function values(option)
  return option and vim.tbl_map(function(choice)
    return choice.value
  end, require("acp.ui.pickers").flat(option)) or {}
end

---@return acp.Session?
local function current()
  return chat.current()
end

---@type table<string, acp.Word>
M.words = {
  open = { run = actions.open },
  toggle = { run = actions.toggle },
  hide = { run = actions.hide },
  new = { run = actions.new },
  close = { run = actions.close },
  continue = { run = actions.continue },
  stop = { run = actions.stop },
  fork = { run = actions.fork },
  decide = { run = actions.decide },
  allow = { run = actions.allow },
  reject = { run = actions.reject },
  unqueue = { run = actions.unqueue },
  restart = { run = actions.restart },
  log = { run = actions.log },
  send = {
    run = function(rest)
      actions.open()
      actions.send(rest)
    end,
  },
  steer = { run = actions.steer },
  rename = { run = actions.rename },
  sessions = {
    run = function(rest)
      actions.sessions(rest == "all")
    end,
    complete = function()
      return { "all" }
    end,
  },
  delete = {
    run = function(rest)
      actions.delete(rest == "all")
    end,
    complete = function()
      return { "all" }
    end,
  },
  mode = {
    run = actions.mode,
    complete = function()
      local session = current()
      return vim.tbl_map(function(mode)
        return mode.id
      end, session and session.modes and session.modes.availableModes or {})
    end,
  },
  model = {
    run = actions.model,
    complete = function()
      local session = current()
      return values(session and session:option("model"))
    end,
  },
  option = {
    run = function(rest)
      actions.option(unpack(vim.split(rest or "", "%s+", { trimempty = true })))
    end,
    complete = function()
      local session = current()
      return vim.tbl_map(function(option)
        return option.id
      end, session and session.options or {})
    end,
  },
  add = {
    run = function(_, given)
      actions.add(given.line1, given.line2, given.range == 0)
    end,
  },
}

---Runs `:Acp`.
---@param given { args: string, range: integer, line1: integer, line2: integer }
function M.run(given)
  local name, rest = given.args:match("^%s*(%S*)%s*(.-)%s*$")
  if name == "" then
    name = given.range > 0 and "add" or "toggle"
  end
  local word = M.words[name]
  if not word then
    return vim.notify("acp: there is no :Acp " .. name, vim.log.levels.ERROR)
  end
  word.run(rest ~= "" and rest or nil, given)
end

---Completes `:Acp`.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local name = line:match("Acp%s+(%S+)%s")
  local found
  if name then
    local word = M.words[name]
    found = word and word.complete and word.complete() or {}
  else
    found = vim.tbl_keys(M.words)
  end
  table.sort(found)
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, found)
end

return M
