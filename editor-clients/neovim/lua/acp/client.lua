-- Owns the connection to one agent: its process, the handshake, what it can do, and the way of its messages to the
-- sessions that they name. Starts the agent at first use; says when it is lost, and leaves what then to its owner.

local process = require("acp.wire.process")
local rpc = require("acp.wire.rpc")

local M = {}

local VERSION = 1
local CAPABILITIES = {
  fs = { readTextFile = true, writeTextFile = true },
  auth = { terminal = true },
  elicitation = { form = vim.empty_dict() },
  session = { notices = vim.empty_dict(), compaction = vim.empty_dict() },
}

---@class acp.Client
---@field command string[]
---@field env table<string, string>
---@field state "off"|"starting"|"on"
---@field can table what the agent can do (agentCapabilities)
---@field auth_methods acp.AuthMethod[]
---@field agent { name?: string, title?: string, version?: string }
---@field sessions table<string, acp.Session> by id; who is here hears the updates of that session
---@field on_lost fun(how: string) called when the agent ended unasked
---@field private process? acp.Process
---@field private peer? acp.Peer
---@field private waiting fun(err?: acp.Error)[]
---@field private services table<string, acp.Serve>
---@field private said? string[] what the last process wrote to its standard error
local Client = {}
Client.__index = Client

---@param command string[]
---@param env table<string, string>
---@param services table<string, acp.Serve> what is answered to the agent's requests
---@return acp.Client
function M.new(command, env, services)
  local self = setmetatable({
    command = command,
    env = env,
    state = "off",
    can = {},
    auth_methods = {},
    agent = {},
    sessions = {},
    waiting = {},
    on_lost = function() end,
  }, Client)
  self.services = services
  return self
end

---Calls `after` once the agent can be asked; with an error when it cannot be started.
---@param after fun(err?: acp.Error)
function Client:ready(after)
  if self.state == "on" then
    return after()
  end
  self.waiting[#self.waiting + 1] = after
  if self.state == "off" then
    self:_start()
  end
end

---Sends a request, after the agent has been started when it is not there.
---@param method string
---@param params table
---@param reply acp.Reply
function Client:request(method, params, reply)
  self:ready(function(err)
    if err then
      return reply(err)
    end
    self.peer:request(method, params, reply)
  end)
end

---Sends a notification to an agent that runs.
---@param method string
---@param params table
function Client:notify(method, params)
  if self.state == "on" then
    self.peer:notify(method, params)
  end
end

---Returns whether the agent offers a method of its own (advertised in `_meta` under its name).
---@param method string
---@return boolean
function Client:offers(method)
  for _, extension in pairs(self.can._meta or {}) do
    if type(extension) == "table" and vim.tbl_contains(extension.methods or {}, method) then
      return true
    end
  end
  return false
end

---Returns whether the agent has an optional method of the protocol ("list", "delete", "fork" …).
---@param name string
---@return boolean
function Client:has(name)
  return (self.can.sessionCapabilities or {})[name] ~= nil
end

---Ends the agent in order, without waiting for it.
function Client:stop()
  local running = self.process
  self.state, self.process = "off", nil
  if self.peer then
    self.peer:close("the agent was stopped")
  end
  if running then
    running:stop()
  end
end

---Returns the id of the agent's process, nil when it does not run.
---@return integer?
function Client:pid()
  return self.process and self.process.pid
end

---Returns what the agent last said on its standard error.
---@return string[]
function Client:stderr()
  return self.said or {}
end

---@private
function Client:_start()
  self.state = "starting"
  local started, wrong
  started, wrong = process.start(self.command, {
    env = self.env,
    on_line = function(line)
      if self.process == started then
        self.peer:receive(line)
      end
    end,
    on_exit = function(how)
      if self.process == started then
        self:_lost(how)
      end
    end,
  })
  if not started then
    self.state = "off"
    return self:_tell({ code = rpc.GONE, message = wrong or "the agent cannot be started" })
  end
  self.process, self.said = started, started.stderr
  self.peer = rpc.new(
    function(line)
      started:write(line)
    end,
    self.services,
    {
      ["session/update"] = function(params)
        local session = self.sessions[params.sessionId]
        if session and type(params.update) == "table" then
          session:update(params.update)
        end
      end,
      ["$/cancel_request"] = function(params)
        for _, session in pairs(self.sessions) do
          session:withdrawn(params.requestId)
        end
      end,
    }
  )
  self:_shake_hands()
end

---@private
function Client:_shake_hands()
  local version = vim.version()
  self.peer:request("initialize", {
    protocolVersion = VERSION,
    clientCapabilities = CAPABILITIES,
    clientInfo = {
      name = "acp.nvim",
      title = "Neovim",
      version = ("%d.%d.%d"):format(version.major, version.minor, version.patch),
    },
  }, function(err, result)
    if result and result.protocolVersion ~= VERSION then
      err = { code = rpc.INTERNAL, message = "The agent speaks another version of the protocol." }
    end
    if err or not result then
      if self.process then
        self:stop()
      end
      return self:_tell(err)
    end
    self.can = result.agentCapabilities or {}
    self.auth_methods = result.authMethods or {}
    self.agent = result.agentInfo or {}
    self.state = "on"
    self:_tell()
  end)
end

---@private
---@param err? acp.Error
function Client:_tell(err)
  local waiting = self.waiting
  self.waiting = {}
  for _, after in ipairs(waiting) do
    after(err)
  end
end

---@private
---@param how string
function Client:_lost(how)
  local stderr = self:stderr()
  local reason = "The agent " .. how .. (#stderr > 0 and (": " .. stderr[#stderr]) or "") .. "."
  local was = self.state
  self.state, self.process = "off", nil
  self.peer:close(reason)
  if was == "on" then
    self.on_lost(reason)
  end
end

return M
