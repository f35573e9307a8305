-- Owns one conversation with the agent: what it is set to, the turn that runs, the prompts that wait, the questions that
-- are open. Draws nothing: whoever shows it listens.

local opening = require("acp.session.opening")
local questions = require("acp.session.questions")
local rpc = require("acp.wire.rpc")
local transcript = require("acp.transcript")
local turns = require("acp.session.turns")

local M = {}

local TOUCHING = { edit = true, delete = true, move = true, execute = true, other = true }

---@alias acp.Event "change"|"state"|"question"|"decided"|"replaced"|"returned"|"touched"|"ended"

---@class acp.Session
---@field id? string absent until the agent knows it
---@field cwd string
---@field title? string
---@field status "new"|"opening"|"open"|"lost"|"failed"
---@field running boolean
---@field started_ns integer when the running turn began
---@field queue string[] prompts that wait for the running turn
---@field questions acp.Question[]
---@field transcript acp.Transcript
---@field modes? acp.Modes
---@field options acp.Option[]
---@field commands acp.SlashCommand[]
---@field usage? acp.Usage
---@field entries acp.PlanEntry[] the latest plan
---@field muted boolean while its history is being loaded
---@field notices acp.Update[] what was told meanwhile
---@field client acp.Client
---@field setup acp.SessionSetup
---@field private listeners fun(event: acp.Event, payload?: any)[]
local Session = {
  open = opening.open,
  close = opening.close,
  prompt = turns.prompt,
  steer = turns.steer,
  stop = turns.stop,
  asked = questions.asked,
  decide = questions.decide,
  withdrawn = questions.withdrawn,
}
Session.__index = Session

---@class acp.SessionSetup
---@field directories string[]
---@field servers table[]
---@field login fun(client: acp.Client, err: acp.Error, done: fun(done: boolean)) called when the agent wants the person to log in
---@field look acp.Looker
---@field editor fun(): table which files are open

---Returns a conversation that the agent does not know yet; with an id, one that it has stored.
---@param client acp.Client
---@param setup acp.SessionSetup
---@param cwd string
---@param id? string
---@return acp.Session
function M.new(client, setup, cwd, id)
  local self = setmetatable({
    client = client,
    setup = setup,
    cwd = cwd,
    id = id,
    status = "new",
    running = false,
    muted = false,
    started_ns = 0,
    queue = {},
    questions = {},
    options = {},
    commands = {},
    entries = {},
    listeners = {},
    notices = {},
  }, Session)
  self.transcript = self:blank()
  return self
end

---@param listener fun(event: acp.Event, payload?: any)
function Session:listen(listener)
  self.listeners[#self.listeners + 1] = listener
end

---@param mode string
function Session:set_mode(mode)
  self:_set("session/set_mode", { modeId = mode }, function()
    if self.modes then
      self.modes.currentModeId = mode
    end
  end)
end

---@param id string
---@param value string
function Session:set_option(id, value)
  self:_set("session/set_config_option", { configId = id, value = value }, function(result)
    self:take(result)
  end)
end

---Returns the option of a category or with an id.
---@param name string
---@return acp.Option?
function Session:option(name)
  for _, option in ipairs(self.options) do
    if option.category == name or option.id == name then
      return option
    end
  end
end

---Takes one update of the agent's.
---@param update acp.Update
function Session:update(update)
  if self.muted and update.sessionUpdate == "notice" then -- it is of this moment: it stands behind the history
    table.insert(self.notices, update)
    return
  end
  if self.transcript:apply(update) then
    if update.sessionUpdate == "plan" then
      self.entries = update.entries or {}
      self:tell("state")
    elseif update.sessionUpdate == "tool_call_update" and M.touches(update) then
      self:tell("touched")
    end
    return
  end
  if update.sessionUpdate == "available_commands_update" then
    self.commands = update.availableCommands or {}
  elseif update.sessionUpdate == "current_mode_update" and self.modes then
    self.modes.currentModeId = update.currentModeId
  elseif update.sessionUpdate == "session_info_update" then
    self.title = update.title or self.title
  elseif update.sessionUpdate == "usage_update" then
    self.usage = update --[[@as acp.Usage]]
  else
    self:take(update)
  end
  self:tell("state")
end

---Hears that the agent is gone; what was open is broken off.
---@param reason string
function Session:lost(reason)
  local was_running = self.running
  self.status = self.id and "lost" or "new"
  self.running = false
  questions.drop(self)
  self.transcript:turn_ended()
  self.transcript:notice("error", reason .. (was_running and " The turn was broken off." or ""))
  turns.return_queue(self)
  self:tell("state")
end

---@private
---@param method string
---@param params table
---@param done fun(result: table)
function Session:_set(method, params, done)
  if self.status ~= "open" then
    return self:open(function(err)
      if not err then
        self:_set(method, params, done)
      end
    end)
  end
  params.sessionId = self.id
  self.client:request(method, params, function(err, result)
    if err then
      self:complain(err)
    else
      done(result or {})
    end
    self:tell("state")
  end)
end

---@param facts table
function Session:take(facts)
  self.modes = facts.modes or self.modes
  self.options = facts.configOptions or self.options
end

---@param err acp.Error
function Session:complain(err)
  self.transcript:notice("error", rpc.words(err))
end

---@return acp.Transcript
function Session:blank()
  return transcript.new(self.cwd, function(change)
    self:tell("change", change)
  end)
end

---@param event acp.Event
---@param payload? any
function Session:tell(event, payload)
  if self.muted then
    return
  end
  for _, listener in ipairs(self.listeners) do
    listener(event, payload)
  end
end

---Returns whether an update tells that files may have changed.
---@param call table
---@return boolean
function M.touches(call)
  return (call.status == "completed" or call.status == "failed") and TOUCHING[call.kind or "other"] or false
end

return M
