-- Owns the settings: their defaults, and the refusal of what is none.

local M = {}

---@class acp.Config
---@field command string[] the agent, as a list of words
---@field env table<string, string> added to Neovim's environment
---@field additional_directories string[] what a session may reach beside its directory
---@field mcp_servers table[] in the protocol's own form, given to every session
---@field position "right"|"left"|"bottom"|"tab"
---@field size number columns of the chat (lines when at the bottom); below 1 a share of the editor
---@field prompt_height integer lines of the prompt's window
---@field folds { thoughts: boolean, tools: boolean } what is folded once it is over
---@field output_lines integer how many lines of a finished tool's output are kept in the chat
---@field live_lines integer how many of a running tool's
---@field questions "idle"|"never" whether a question opens by itself once nobody types
---@field idle_ms integer how long nobody types until then
---@field show_diff boolean whether a proposed edit is shown beside the file before it is decided
---@field reload boolean whether buffers are read again when the agent changed their files
---@field complete boolean whether `/` and `@` complete as they are typed
---@field restart integer how often in a minute a crashed agent is started again by itself
---@field conceal integer the option 'conceallevel' of the chat; above 0 marks of Markdown are hidden
---@field icons table<string, string>
---@field keys { chat: table<string, string|false>, prompt: table<string, string|false>, diff: table<string, string|false> }

---@type acp.Config
M.defaults = {
  command = { "acp-server", "acp" },
  env = {},
  additional_directories = {},
  mcp_servers = {},
  position = "right",
  size = 0.4,
  prompt_height = 6,
  folds = { thoughts = true, tools = true },
  output_lines = 200,
  live_lines = 12,
  questions = "idle",
  idle_ms = 600,
  show_diff = true,
  reload = true,
  complete = true,
  restart = 3,
  conceal = 0,
  icons = {
    pending = "○",
    in_progress = "◐",
    completed = "✓",
    failed = "✗",
    question = "?",
    spinner = "◐◓◑◒",
  },
  keys = {
    chat = {
      ["i"] = "prompt",
      ["a"] = "prompt",
      ["o"] = "prompt",
      ["q"] = "hide",
      ["<C-c>"] = "stop",
      ["<Tab>"] = "fold",
      ["<CR>"] = "jump",
      ["gd"] = "diff",
      ["ga"] = "decide",
      ["gm"] = "mode",
      ["gM"] = "model",
      ["gs"] = "sessions",
      ["gn"] = "new",
      ["]]"] = "next",
      ["[["] = "previous",
      ["g?"] = "help",
    },
    prompt = {
      ["<CR>"] = "send",
      ["<C-s>"] = "send",
      ["<C-c>"] = "stop",
      ["q"] = "hide",
      ["g<CR>"] = "steer",
      ["ga"] = "decide",
      ["gm"] = "mode",
      ["gM"] = "model",
      ["gs"] = "sessions",
      ["gn"] = "new",
      ["<S-Tab>"] = "next_mode",
      ["<C-Up>"] = "older",
      ["<C-Down>"] = "newer",
      ["g?"] = "help",
    },
    diff = { ["ga"] = "decide", ["q"] = "close_diff" },
  },
}

---@type acp.Config
M.values = vim.deepcopy(M.defaults)

local POSITIONS = { right = true, left = true, bottom = true, tab = true }
local QUESTIONS = { idle = true, never = true }

---Takes the person's settings. Errors when one is unknown or of a wrong type, naming it.
---@param given? table
function M.setup(given)
  given = given or {}
  M.check(given, M.defaults, "")
  local values = vim.tbl_deep_extend("force", M.defaults, given)
  for _, name in ipairs({ "command", "additional_directories", "mcp_servers" }) do -- lists are taken whole
    values[name] = given[name] or M.defaults[name]
  end
  assert(POSITIONS[values.position], "acp: position is right, left, bottom or tab")
  assert(QUESTIONS[values.questions], "acp: questions is idle or never")
  assert(#values.command > 0 and vim.islist(values.command), "acp: command is a list of words")
  M.values = values
end

local OPEN = { env = true, icons = true, chat = true, prompt = true, diff = true, command = true }
OPEN.additional_directories, OPEN.mcp_servers = true, true

---@param given table
---@param defaults table
---@param place string
function M.check(given, defaults, place)
  for key, value in pairs(given) do
    local default = defaults[key]
    if default == nil then
      error(("acp: there is no setting %s%s"):format(place, key), 0)
    elseif type(value) ~= type(default) then
      error(("acp: %s%s has to be a %s"):format(place, key, type(default)), 0)
    elseif type(value) == "table" and not OPEN[key] then
      M.check(value, default, place .. key .. ".")
    end
  end
end

return M
