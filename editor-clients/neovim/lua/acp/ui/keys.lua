-- Owns the keys of a buffer: the person's table of key to action, and what each action is called.

local M = {}

M.words = {
  prompt = "write a prompt",
  hide = "hide the chat",
  stop = "stop the turn",
  fold = "open or close the fold",
  jump = "go to the file of the call",
  diff = "show the call's edits as a diff",
  decide = "decide what is asked",
  mode = "choose the mode",
  model = "choose the model",
  sessions = "choose a conversation",
  new = "begin a conversation",
  next = "next prompt",
  previous = "previous prompt",
  help = "show the keys",
  send = "send the prompt",
  steer = "say it to the running turn",
  next_mode = "next mode",
  older = "older prompt",
  newer = "newer prompt",
  close_diff = "close the diff",
}

local BOTH = { ["<C-s>"] = true, ["<C-Up>"] = true, ["<C-Down>"] = true, ["<S-Tab>"] = true }

---Maps the keys in a buffer. A key that is set to false is left alone. Control keys that insert nothing work while
---text is written as well.
---@param buf integer
---@param table_ table<string, string|false>
---@param actions table<string, fun()>
function M.map(buf, table_, actions)
  for key, name in pairs(table_) do
    local action = name and actions[name]
    if action then
      local modes = BOTH[key] and { "n", "i" } or "n"
      vim.keymap.set(modes, key, action, { buffer = buf, nowait = true, desc = "acp: " .. (M.words[name] or name) })
    end
  end
end

---Returns a line a key, sorted.
---@param table_ table<string, string|false>
---@return string[]
function M.help(table_)
  local lines = {}
  for key, name in pairs(table_) do
    if name then
      lines[#lines + 1] = ("%-10s %s"):format(key, M.words[name] or name)
    end
  end
  table.sort(lines)
  return lines
end

return M
