-- Owns how a conversation comes to be at the agent: anew, or with its stored history, after a login where one is wanted.

local questions = require("acp.session.questions")
local turns = require("acp.session.turns")

local M = {}

local AUTH_REQUIRED, NOT_FOUND = -32000, -32002

---Opens it at the agent: a stored one with its history, any other one anew.
---@param self acp.Session
---@param after? fun(err?: acp.Error)
function M.open(self, after)
  self.status = "opening"
  self:tell("state")
  if self.id then
    return M.load(self, after)
  end
  M.establish(self, "session/new", {}, function(err, result)
    if not err and result then
      self.id = result.sessionId
      self.client.sessions[self.id] = self
    end
    M.opened(self, err, result, after)
  end)
end

---Shows the stored history. What was shown before stays until all of it is there, and stays if it cannot be had.
---@param self acp.Session
---@param after? fun(err?: acp.Error)
function M.load(self, after)
  local shown = self.transcript
  self.transcript, self.muted, self.notices = self:blank(), true, {} -- nothing is drawn until all of it is there
  self.client.sessions[self.id] = self
  M.establish(self, "session/load", { sessionId = self.id }, function(err, result)
    self.muted = false
    if err then
      self.transcript = shown
      if err.code == NOT_FOUND and #shown.blocks > 0 then -- nothing of it was kept, as nothing had been said
        self.client.sessions[self.id], self.id = nil, nil
        return M.open(self, after)
      end
    else
      self.transcript:turn_ended()
      for _, notice in ipairs(self.notices) do
        self.transcript:apply(notice)
      end
      self:tell("replaced")
    end
    M.opened(self, err, result, after)
  end)
end

---Makes a request that opens a conversation; once more after a login, when the agent wants one.
---@param self acp.Session
---@param method string
---@param params table
---@param reply acp.Reply
function M.establish(self, method, params, reply)
  params.cwd, params.mcpServers = self.cwd, self.setup.servers
  self.client:ready(function(unready)
    if unready then
      return reply(unready)
    end
    if #self.setup.directories > 0 and self.client:has("additionalDirectories") then
      params.additionalDirectories = self.setup.directories
    end
    self.client:request(method, params, function(err, result)
      if err and err.code == AUTH_REQUIRED then
        return self.setup.login(self.client, err, function(done)
          if done then
            return M.establish(self, method, params, reply)
          end
          reply(err)
        end)
      end
      reply(err, result)
    end)
  end)
end

---@param self acp.Session
---@param err? acp.Error
---@param result? table
---@param after? fun(err?: acp.Error)
function M.opened(self, err, result, after)
  if err then
    self.status = "failed"
    self:complain(err)
    turns.return_queue(self)
  else
    self.status = "open"
    self:take(result or {})
    turns.pump(self)
  end
  self:tell("state")
  if after then
    after(err)
  end
end

---Has the agent forget it here; its history stays stored.
---@param self acp.Session
function M.close(self)
  questions.drop(self)
  if self.id and self.status == "open" and self.client:has("close") then
    self.client:request("session/close", { sessionId = self.id }, function() end)
  end
  if self.id then
    self.client.sessions[self.id] = nil
  end
  self.status = "new"
end

return M
