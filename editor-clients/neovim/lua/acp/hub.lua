-- Owns what lives in this Neovim: the one agent, the conversations that are open, and what happens when the agent dies.

local client = require("acp.client")
local config = require("acp.config")
local files = require("acp.files")
local session = require("acp.session")

local M = {}

local MINUTE_NS = 60 * 1000 * 1000 * 1000
local NOT_FOUND = { code = -32002, message = "Session not found" }

---@type acp.Client?
local agent
---@type acp.Session[]
local sessions = {}
---@type integer[] when the agent was lost, of the last minute
local losses = {}

---What the user interface gives: how a login is made, and how a form is filled in.
---@type { login: fun(client: acp.Client, err: acp.Error, done: fun(done: boolean)), form: acp.Serve, opened: fun(session: acp.Session) }
M.person = {
  login = function(_, _, done)
    done(false)
  end,
  form = function(_, reply)
    reply(nil, { action = "cancel" })
  end,
  opened = function() end,
}

---Returns the agent, which need not run yet.
---@return acp.Client
function M.client()
  if not agent then
    agent = client.new(config.values.command, config.values.env, M.services())
    agent.on_lost = M.lost
  end
  return agent
end

---Returns what is answered to the agent's requests.
---@return table<string, acp.Serve>
function M.services()
  local function known(serve)
    return function(params, reply, request)
      local found = agent and agent.sessions[params.sessionId]
      if not found then
        return reply(NOT_FOUND)
      end
      serve(found, params, reply, request)
    end
  end
  return {
    ["session/request_permission"] = known(function(found, params, reply, request)
      found:asked(params, reply, request)
    end),
    ["fs/read_text_file"] = known(function(_, params, reply)
      files.read(params, reply)
    end),
    ["fs/write_text_file"] = known(function(_, params, reply)
      files.write(params, reply)
    end),
    ["elicitation/create"] = function(params, reply, request)
      M.person.form(params, reply, request)
    end,
  }
end

---Returns the conversations that are open here.
---@return acp.Session[]
function M.sessions()
  return sessions
end

---Returns a conversation in a directory: a stored one when an id is given, which is opened once only.
---@param cwd string
---@param id? string
---@return acp.Session
function M.session(cwd, id)
  for _, open in ipairs(sessions) do
    if id and open.id == id then
      return open
    end
  end
  local values = config.values
  local setup = {
    directories = values.additional_directories,
    servers = values.mcp_servers,
    login = function(...)
      M.person.login(...)
    end,
    look = M.looker(cwd),
    editor = files.open,
  }
  local made = session.new(M.client(), setup, cwd, id)
  sessions[#sessions + 1] = made
  M.person.opened(made)
  made:open()
  return made
end

---Returns how a prompt's `@path` finds files.
---@param cwd string
---@return acp.Looker
function M.looker(cwd)
  return {
    file = function(path)
      local expanded = path:sub(1, 1) == "~" and vim.fs.normalize(path) or path
      local whole = expanded:sub(1, 1) == "/" and expanded or vim.fs.joinpath(cwd, expanded)
      return vim.uv.fs_stat(whole) and vim.fs.normalize(whole) or nil
    end,
    lines = function(path, first, last)
      local buf = files.buffer(path)
      local lines = buf and vim.api.nvim_buf_get_lines(buf, 0, -1, false)
      if not lines then
        local read, found = pcall(vim.fn.readfile, path, "", last)
        lines = read and found or {}
      end
      return first <= #lines and table.concat(lines, "\n", first, math.min(last, #lines)) or nil
    end,
  }
end

---Closes a conversation here; its history stays with the agent.
---@param closed acp.Session
function M.close(closed)
  closed:close()
  sessions = vim.tbl_filter(function(other)
    return other ~= closed
  end, sessions)
end

---Asks the agent for all stored conversations, page by page.
---@param cwd? string only those of a directory
---@param done fun(err?: acp.Error, found?: acp.SessionEntry[])
function M.list(cwd, done)
  local found = {}
  local function page(cursor)
    M.client():request("session/list", { cwd = cwd, cursor = cursor }, function(err, result)
      if err or not result then
        return done(err)
      end
      vim.list_extend(found, result.sessions or {})
      if result.nextCursor and #found < 1000 then
        return page(result.nextCursor)
      end
      done(nil, found)
    end)
  end
  page()
end

---Starts the agent again and opens what was open, with its history.
function M.restart()
  if agent then
    agent:stop()
    for _, open in ipairs(sessions) do
      open:lost("The agent is started again.")
    end
  end
  losses = {}
  M.restore("The agent was started again")
end

---Hears that the agent died. It is started again by itself, but not over and over.
---@param reason string
function M.lost(reason)
  for _, open in ipairs(sessions) do
    open:lost(reason)
  end
  local now = vim.uv.hrtime()
  losses = vim.tbl_filter(function(when)
    return now - when < MINUTE_NS
  end, losses)
  losses[#losses + 1] = now
  if #losses > config.values.restart then
    return vim.notify("acp: " .. reason .. " `:Acp restart` starts it again.", vim.log.levels.ERROR)
  end
  if #sessions > 0 then
    vim.defer_fn(function()
      M.restore(reason .. " It was started again")
    end, 100 * 4 ^ (#losses - 1))
  end
end

---Opens at the agent what is lost, and says what happened where a conversation was going on.
---@param reason string
function M.restore(reason)
  for _, open in ipairs(sessions) do
    if open.status == "lost" or open.status == "new" then
      open:open(function(err)
        if not err and #open.transcript.blocks > 0 then
          open.transcript:notice("info", reason .. ", and the conversation loaded.")
        end
      end)
    end
  end
end

---Ends the agent without waiting for it.
function M.shutdown()
  if agent then
    agent:stop()
  end
end

---Forgets the agent and every conversation. For a change of settings, and for tests.
function M.reset()
  M.shutdown()
  agent, sessions, losses = nil, {}, {}
end

return M
