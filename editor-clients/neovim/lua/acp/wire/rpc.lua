-- Owns JSON-RPC 2.0 between two peers: ids, waiting answers, requests and notifications from the other side.
-- Never draws, never starts a process: lines go out by a function and come in by `receive`.

local M = {}

M.METHOD_NOT_FOUND = -32601
M.INTERNAL = -32603
M.GONE = -32900 -- of this plugin: the other side ended before it answered

---@alias acp.Reply fun(err?: acp.Error, result?: table)
---@alias acp.Serve fun(params: table, reply: acp.Reply, request: integer|string)

---@class acp.Peer
---@field private send fun(line: string)
---@field private serve table<string, acp.Serve>
---@field private hear table<string, fun(params: table)>
---@field private waiting table<integer, acp.Reply>
---@field private last_id integer
---@field private closed? string
local Peer = {}
Peer.__index = Peer

---Returns a peer that writes by `send`, answers requests by `serve[method]` and hears notifications by `hear[method]`.
---@param send fun(line: string)
---@param serve table<string, acp.Serve>
---@param hear table<string, fun(params: table)>
---@return acp.Peer
function M.new(send, serve, hear)
  return setmetatable({ send = send, serve = serve, hear = hear, waiting = {}, last_id = 0 }, Peer)
end

---Sends a request; `reply` is called once, with an error or a result.
---@param method string
---@param params table
---@param reply acp.Reply
---@return integer? id nil when the connection is closed
function Peer:request(method, params, reply)
  if self.closed then
    reply({ code = M.GONE, message = self.closed })
    return nil
  end
  self.last_id = self.last_id + 1
  self.waiting[self.last_id] = reply
  self:_write({ id = self.last_id, method = method, params = M.object(params) })
  return self.last_id
end

---@param method string
---@param params table
function Peer:notify(method, params)
  if not self.closed then
    self:_write({ method = method, params = M.object(params) })
  end
end

---Takes one line from the other side. What is no JSON object is passed over: it can belong to no request.
---@param line string
function Peer:receive(line)
  local read, message = pcall(vim.json.decode, line, { luanil = { object = true, array = true } })
  if not read or type(message) ~= "table" then
    return
  end
  if message.method == nil then
    self:_answered(message)
  elseif message.id == nil then
    local hear = self.hear[message.method]
    if hear then
      hear(type(message.params) == "table" and message.params or {})
    end
  else
    self:_asked(message)
  end
end

---Fails everything that waits, and whatever is asked from here on.
---@param reason string
function Peer:close(reason)
  self.closed = reason
  local waiting = self.waiting
  self.waiting = {}
  for _, reply in pairs(waiting) do
    reply({ code = M.GONE, message = reason })
  end
end

---@private
---@param message table
function Peer:_answered(message)
  local reply = self.waiting[message.id]
  if reply then
    self.waiting[message.id] = nil
    reply(message.error, not message.error and (message.result or {}) or nil)
  end
end

---@private
---@param message table
function Peer:_asked(message)
  local id, answered = message.id, false
  local function reply(err, result)
    if answered or self.closed then
      return
    end
    answered = true
    self:_write({ id = id, error = err, result = not err and M.object(result or {}) or nil })
  end
  local serve = self.serve[message.method]
  if not serve then
    return reply({ code = M.METHOD_NOT_FOUND, message = "Method not found", data = { method = message.method } })
  end
  local fine, wrong = pcall(serve, type(message.params) == "table" and message.params or {}, reply, id)
  if not fine then
    reply({ code = M.INTERNAL, message = "Internal error", data = { details = tostring(wrong) } })
  end
end

---@private
---@param message table
function Peer:_write(message)
  message.jsonrpc = "2.0"
  self.send(vim.json.encode(message))
end

---Returns the table, marked so that an empty one is written as an object and not as an array.
---@param value table
---@return table
function M.object(value)
  return next(value) == nil and vim.empty_dict() or value
end

---Returns what a person should read of an error.
---@param err acp.Error
---@return string
function M.words(err)
  local details = type(err.data) == "table" and err.data.details
  return type(details) == "string" and details ~= "" and details or err.message or "unknown error"
end

return M
