-- Owns what the bars say: title, mode, model, state, plan, usage. Pure but for the clock that it is given.

local M = {}

local format = require("acp.ui.format")

---Returns a number of tokens in few characters.
---@param count integer
---@return string
function M.tokens(count)
  if count < 1000 then
    return tostring(count)
  elseif count < 1000000 then
    return (("%.1fk"):format(count / 1000):gsub("%.0k", "k"))
  end
  return (("%.1fM"):format(count / 1000000):gsub("%.0M", "M"))
end

---Returns seconds in few characters.
---@param seconds number
---@return string
function M.seconds(seconds)
  local whole = math.floor(seconds)
  return whole < 60 and whole .. "s" or ("%dm%02ds"):format(math.floor(whole / 60), whole % 60)
end

---Returns a text as it can stand in a bar.
---@param text string
---@return string
function M.plain(text)
  return (text:gsub("%c", " "):gsub("%%", "%%%%"))
end

---Returns the name of a choice that is in force.
---@param option? acp.Option
---@return string?
function M.chosen(option)
  if not option then
    return nil
  end
  for _, choice in ipairs(option.options or {}) do
    if choice.value == option.currentValue then
      return choice.name
    end
    for _, inner in ipairs(choice.options or {}) do
      if inner.value == option.currentValue then
        return inner.name
      end
    end
  end
  return option.currentValue
end

---Returns the name of the mode of a conversation.
---@param session acp.Session
---@return string?
function M.mode(session)
  for _, mode in ipairs(session.modes and session.modes.availableModes or {}) do
    if mode.id == session.modes.currentModeId then
      return mode.name
    end
  end
  return M.chosen(session:option("mode"))
end

---Returns what a conversation is at, and the colour of it.
---@param session acp.Session
---@param icons table<string, string>
---@param now_ns integer
---@return string, string
function M.state(session, icons, now_ns)
  if #session.questions > 0 then
    return icons.question .. " asks you", "AcpBarQuestion"
  elseif session.running then
    local frames = vim.fn.split(icons.spinner, "\\zs")
    local seconds = (now_ns - session.started_ns) / 1e9
    local frame = #frames > 0 and frames[math.floor(seconds * 4) % #frames + 1] .. " " or ""
    return frame .. M.seconds(seconds), "AcpBarActive"
  elseif session.status == "opening" then
    return "opening …", "AcpBarActive"
  elseif session.status == "lost" or session.status == "failed" then
    return "not connected", "AcpBarQuestion"
  end
  return "", "AcpBar"
end

---Returns the size of the conversation against the window of its model, and what it cost.
---@param usage? acp.Usage
---@param short? boolean the share alone
---@return string?
function M.usage(usage, short)
  if not usage or not usage.size or usage.size == 0 then
    return nil
  end
  local share = ("%d%%"):format(usage.used * 100 / usage.size + 0.5)
  if short then
    return share
  end
  local cost = usage.cost and (" %.2f %s"):format(usage.cost.amount, usage.cost.currency) or ""
  return ("%s/%s %s%s"):format(M.tokens(usage.used), M.tokens(usage.size), share, cost)
end

---Returns a text cut to so many cells.
---@param text string
---@param cells integer
---@return string
function M.fit(text, cells)
  if vim.api.nvim_strwidth(text) <= cells then
    return text
  end
  return vim.fn.strcharpart(text, 0, math.max(0, cells - 1)) .. "…"
end

---Returns the bar over the chat. Where it is narrow figures become short, then the model goes, then the title is cut.
---@param session acp.Session
---@param icons table<string, string>
---@param now_ns integer
---@param width integer cells
---@return string
function M.chat(session, icons, now_ns, width)
  local state, colour = M.state(session, icons, now_ns)
  local title = session.title or "New conversation"
  local plan = #session.entries > 0 and ("plan %d/%d"):format(format.count(session.entries), #session.entries) or nil
  local facts, figures, room
  for step = 1, 3 do
    facts = M.joined({ "", M.mode(session), step < 3 and M.chosen(session:option("model")) or nil })
    figures = M.joined({ plan, M.usage(session.usage, step > 1) })
    room = width - vim.api.nvim_strwidth(facts .. figures .. state) - 4
    if room >= math.min(16, vim.api.nvim_strwidth(title)) then
      break
    end
  end
  local middle = state ~= "" and ("%%#%s# %s%%#AcpBar#"):format(colour, M.plain(state)) or ""
  local shown = M.plain(M.fit(title, math.max(4, room)) .. facts)
  return ("%%#AcpBar# %s%s%%<%%=%s "):format(shown, middle, M.plain(figures))
end

---Returns what is there, with dots between.
---@param parts table<integer, string?> up to three of them
---@return string
function M.joined(parts)
  local found = {}
  for place = 1, 3 do
    found[#found + 1] = parts[place]
  end
  return table.concat(found, " · ")
end

---Returns the bar over the prompt: what its keys do just then.
---@param session acp.Session
---@return string
function M.prompt(session)
  local waiting = #session.queue > 0 and (" · %d waiting"):format(#session.queue) or ""
  if #session.questions > 0 then
    return "%#AcpBarQuestion# ga decides" .. waiting .. " "
  elseif session.running then
    return "%#AcpBar# Enter queues · Ctrl-C stops" .. waiting .. " "
  end
  return "%#AcpBar# Enter sends · / commands · @ files · g? keys" .. waiting .. " "
end

---Returns a line for the person's own status line, empty without a conversation.
---@param session? acp.Session
---@param icons table<string, string>
---@param now_ns integer
---@return string
function M.line(session, icons, now_ns)
  if not session then
    return ""
  end
  local state = M.state(session, icons, now_ns)
  return M.plain(M.joined({ state ~= "" and state or nil, M.usage(session.usage) }))
end

return M
