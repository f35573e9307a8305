-- Owns the lists that a person chooses from: conversations, modes, models, options.

local chat = require("acp.ui.chat")
local hub = require("acp.hub")
local rpc = require("acp.wire.rpc")

local M = {}

---@param err acp.Error
local function complain(err)
  vim.notify("acp: " .. rpc.words(err), vim.log.levels.ERROR)
end
M.complain = complain

---Returns how long ago a moment was, in words.
---@param stamp? string in UTC, as the protocol writes it
---@param now integer seconds since 1970
---@return string
function M.ago(stamp, now)
  local year, month, day, hour, minute, second = (stamp or ""):match("^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)")
  if not year then
    return ""
  end
  local a = math.floor((14 - month) / 12) -- days since 1970 by the Gregorian calendar; os.time knows local time only
  local y, m = year + 4800 - a, month + 12 * a - 3
  local days = day + math.floor((153 * m + 2) / 5) + 365 * y + math.floor(y / 4) - math.floor(y / 100)
  days = days + math.floor(y / 400) - 32045 - 2440588
  local seconds = now - (days * 86400 + hour * 3600 + minute * 60 + second)
  for _, unit in ipairs({ { 86400, "d" }, { 3600, "h" }, { 60, "min" } }) do
    if seconds >= unit[1] then
      return ("%d %s ago"):format(math.floor(seconds / unit[1]), unit[2])
    end
  end
  return "just now"
end

---Returns how a stored conversation reads in a list.
---@param entry acp.SessionEntry
---@param elsewhere boolean whether its directory is to be told
---@return string
function M.entry(entry, elsewhere)
  local open = ""
  for _, session in ipairs(hub.sessions()) do
    if session.id == entry.sessionId then
      open = session.running and "● " or "○ "
    end
  end
  local parts = { open .. (entry.title or "Without a title"), M.ago(entry.updatedAt, os.time()) }
  if elsewhere then
    parts[#parts + 1] = vim.fn.fnamemodify(entry.cwd, ":~")
  end
  return table.concat(parts, "  ")
end

---Lets the person choose one of the stored conversations.
---@param everywhere boolean whether those of other directories are listed
---@param prompt string
---@param done fun(entry: acp.SessionEntry)
function M.stored(everywhere, prompt, done)
  hub.list(not everywhere and vim.fn.getcwd() or nil, function(err, found)
    if err or not found then
      return complain(err or { code = 0, message = "no answer" })
    end
    if #found == 0 then
      return vim.notify("acp: no conversation is stored here")
    end
    vim.ui.select(found, {
      prompt = prompt,
      kind = "acp-session",
      format_item = function(entry)
        return M.entry(entry, everywhere)
      end,
    }, function(entry)
      if entry then
        done(entry)
      end
    end)
  end)
end

---Lets the person choose the value of an option, or takes the given one.
---@param session acp.Session
---@param name string id or category
---@param value? string
function M.option(session, name, value)
  local option = session:option(name)
  if not option then
    return vim.notify("acp: the agent has no option " .. name, vim.log.levels.WARN)
  end
  if value then
    return session:set_option(option.id, value)
  end
  local choices = M.flat(option)
  vim.ui.select(choices, {
    prompt = option.name,
    kind = "acp-option",
    format_item = function(choice)
      local mark = choice.value == option.currentValue and "● " or "  "
      return mark .. choice.name .. (choice.description and ("  %s"):format(choice.description) or "")
    end,
  }, function(choice)
    if choice then
      session:set_option(option.id, choice.value)
    end
  end)
end

---Returns the values of an option, those of groups in one list.
---@param option acp.Option
---@return acp.Choice[]
function M.flat(option)
  local found = {}
  for _, choice in ipairs(option.options or {}) do
    vim.list_extend(found, choice.options or { choice })
  end
  return found
end

---Lets the person choose the mode, or takes the given one.
---@param session acp.Session
---@param id? string
function M.mode(session, id)
  if not session.modes then
    return M.option(session, "mode", id)
  elseif id then
    return session:set_mode(id)
  end
  vim.ui.select(session.modes.availableModes, {
    prompt = "Mode",
    kind = "acp-mode",
    format_item = function(mode)
      local mark = mode.id == session.modes.currentModeId and "● " or "  "
      return mark .. mode.name .. (mode.description and ("  %s"):format(mode.description) or "")
    end,
  }, function(mode)
    if mode then
      session:set_mode(mode.id)
    end
  end)
end

---Sets the mode behind the one that is in force.
---@param session acp.Session
function M.next_mode(session)
  local modes = session.modes and session.modes.availableModes or {}
  for place, mode in ipairs(modes) do
    if mode.id == session.modes.currentModeId then
      return session:set_mode(modes[place % #modes + 1].id)
    end
  end
end

---Lets the person choose any option, then its value.
---@param session acp.Session
function M.options(session)
  vim.ui.select(session.options, {
    prompt = "Option",
    kind = "acp-option",
    format_item = function(option)
      return option.name .. ": " .. (require("acp.ui.bar").chosen(option) or "")
    end,
  }, function(option)
    if option then
      M.option(session, option.id)
    end
  end)
end

---Deletes a stored conversation after the person has said so twice.
---@param entry acp.SessionEntry
function M.delete(entry)
  local words = { "Keep it", "Delete it" }
  vim.ui.select(words, { prompt = ("Delete %s?"):format(entry.title or "it"), kind = "acp-delete" }, function(word)
    if word ~= words[2] then
      return
    end
    for _, session in ipairs(hub.sessions()) do
      if session.id == entry.sessionId then
        hub.close(session)
        chat.forget(session)
      end
    end
    hub.client():request("session/delete", { sessionId = entry.sessionId }, function(err)
      if err then
        return complain(err)
      end
      vim.notify("acp: deleted " .. (entry.title or entry.sessionId))
    end)
  end)
end

return M
