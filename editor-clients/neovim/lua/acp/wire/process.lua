-- Owns the agent's process: its start, the bytes to it, the lines from it, its end. Knows nothing of what they say.

local lines = require("acp.wire.lines")

local M = {}

M.LONGEST_LINE = 64 * 1024 * 1024
local KEPT_STDERR_LINES = 200

---@class acp.Process
---@field pid integer
---@field stderr string[] the last lines that it wrote to its standard error
---@field private handle vim.SystemObj
---@field private ended boolean
local Process = {}
Process.__index = Process

---Starts a command. `on_line` and `on_exit` are called on the main loop, in order, and never inside this call.
---Returns nil and a sentence when it cannot be started.
---@param command string[]
---@param opts { env?: table<string, string>, cwd?: string, on_line: fun(line: string), on_exit: fun(how: string) }
---@return acp.Process?, string?
function M.start(command, opts)
  local self = setmetatable({ stderr = {}, ended = false }, Process)
  local splitter, said = lines.new(M.LONGEST_LINE), lines.new(M.LONGEST_LINE)
  local inbox = require("acp.wire.inbox").new(opts.on_line)
  local started, handle = pcall(vim.system, command, {
    env = opts.env,
    cwd = opts.cwd,
    stdin = true,
    text = false,
    stdout = function(_, piece)
      inbox:put(splitter:feed(piece or ""))
    end,
    stderr = function(_, piece)
      self:_remember(said:feed(piece or ""))
    end,
  }, function(done)
    self.ended = true
    inbox:close(function()
      opts.on_exit(M.describe(done.code, done.signal))
    end)
  end)
  if not started then
    return nil, ("%s cannot be started: %s"):format(command[1], tostring(handle):gsub("^.-:%d+: ", ""))
  end
  self.handle, self.pid = handle, handle.pid
  return self
end

---Returns how a process ended, in words.
---@param code integer
---@param signal integer
---@return string
function M.describe(code, signal)
  return signal ~= 0 and ("ended by signal %d"):format(signal) or ("ended with status %d"):format(code)
end

---Writes a line; what is written to a process that has ended is lost.
---@param line string
function Process:write(line)
  if not self.ended then
    pcall(self.handle.write, self.handle, line .. "\n")
  end
end

---Closes its input, which ends it in order. Does not wait.
function Process:stop()
  if not self.ended then
    pcall(self.handle.write, self.handle, nil)
  end
end

---@return boolean
function Process:is_running()
  return not self.ended
end

---@private
---@param found string[]
function Process:_remember(found)
  for _, line in ipairs(found) do
    self.stderr[#self.stderr + 1] = line
    if #self.stderr > KEPT_STDERR_LINES then
      table.remove(self.stderr, 1)
    end
  end
end

return M
