-- Owns `:checkhealth acp`: what is needed, what is there, and whether the agent answers.

local config = require("acp.config")
local process = require("acp.wire.process")
local rpc = require("acp.wire.rpc")

local M = {}

local ANSWER_MS = 10000

function M.check()
  local health = vim.health
  health.start("acp: Neovim")
  if vim.fn.has("nvim-0.10") == 1 then
    health.ok("Neovim is " .. tostring(vim.version()))
  else
    health.error("Neovim is older than 0.10")
  end
  local parser = pcall(vim.treesitter.language.inspect, "markdown")
  if parser then
    health.ok("the Markdown parser is there")
  else
    health.warn("without the Markdown parser the chat has no colours", { "Install the parser `markdown`." })
  end
  health.start("acp: agent")
  local command = config.values.command
  if vim.fn.executable(command[1]) ~= 1 then
    return health.error(command[1] .. " is not executable", {
      "Install it, or name it in require('acp').setup({ command = … }).",
    })
  end
  health.ok("the command is " .. table.concat(command, " "))
  M.ask(command, health)
end

---Starts the agent and looks at its answer to initialize. Waits, as a health check does.
---@param command string[]
---@param health table
function M.ask(command, health)
  local answered, ended, err, result
  local peer
  local started, wrong = process.start(command, {
    env = config.values.env,
    on_line = function(line)
      peer:receive(line)
    end,
    on_exit = function(how)
      ended = how
    end,
  })
  if not started then
    return health.error(wrong or "the agent cannot be started")
  end
  peer = rpc.new(function(line)
    started:write(line)
  end, {}, {})
  peer:request("initialize", { protocolVersion = 1 }, function(...)
    answered = true
    err, result = ...
  end)
  vim.wait(ANSWER_MS, function()
    return answered or ended ~= nil
  end, 10)
  started:stop()
  if not answered or err then
    local words = err and rpc.words(err) or ended or "it did not answer"
    return health.error("the agent does not answer: " .. words, started.stderr)
  end
  local agent = result.agentInfo or {}
  health.ok(("it is %s %s"):format(agent.title or agent.name or "an agent", agent.version or ""))
  local can = result.agentCapabilities or {}
  local sessions = vim.tbl_keys(can.sessionCapabilities or {})
  table.sort(sessions)
  health.info("it loads conversations: " .. (can.loadSession and "yes" or "no"))
  health.info("of conversations it offers: " .. table.concat(sessions, ", "))
end

return M
