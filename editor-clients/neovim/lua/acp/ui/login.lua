-- Owns what happens when the agent wants the person to log in: a choice of its ways, a terminal for those that need one.

local rpc = require("acp.wire.rpc")

local M = {}

---Lets the person choose how to log in; calls back with whether that was done.
---@param client acp.Client
---@param err acp.Error
---@param done fun(done: boolean)
function M.ask(client, err, done)
  local methods = type(err.data) == "table" and err.data.authMethods or client.auth_methods
  vim.ui.select(methods, {
    prompt = rpc.words(err),
    kind = "acp-login",
    format_item = function(method)
      return method.description and ("%s: %s"):format(method.name, method.description) or method.name
    end,
  }, function(method)
    if not method then
      done(false)
    elseif method.type == "terminal" then
      M.terminal(client, method, done)
    else
      M.authenticate(client, method.id, done)
    end
  end)
end

---@param client acp.Client
---@param id string
---@param done fun(done: boolean)
function M.authenticate(client, id, done)
  client:request("authenticate", { methodId = id }, function(failed)
    if failed then
      vim.notify("acp: " .. rpc.words(failed), vim.log.levels.ERROR)
    end
    done(not failed)
  end)
end

---Runs the agent's own login in a terminal; 0 means that it is done.
---@param client acp.Client
---@param method acp.AuthMethod
---@param done fun(done: boolean)
function M.terminal(client, method, done)
  local command = vim.list_extend(vim.list_slice(client.command), method.args or {})
  vim.cmd("botright 15new")
  local buf = vim.api.nvim_get_current_buf()
  local env = vim.tbl_extend("force", client.env, method.env or {})
  local options = {
    env = next(env) and env or nil,
    on_exit = function(_, status)
      if status ~= 0 then
        return done(false)
      end
      pcall(vim.api.nvim_buf_delete, buf, { force = true })
      M.authenticate(client, M.first_of_agent(client) or method.id, done)
    end,
  }
  if vim.fn.has("nvim-0.11") == 1 then
    options.term = true
    vim.fn.jobstart(command, options)
  else
    vim.fn.termopen(command, options)
  end
  vim.cmd("startinsert")
end

---Returns the way that needs nothing of the person, which takes up what a terminal left.
---@param client acp.Client
---@return string?
function M.first_of_agent(client)
  for _, method in ipairs(client.auth_methods) do
    if method.type ~= "terminal" then
      return method.id
    end
  end
end

return M
