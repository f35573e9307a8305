-- The help says what there is, and nothing else.

local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))
local place = vim.fs.joinpath(vim.fs.dirname(here), "doc", "acp.txt")
local help = table.concat(vim.fn.readfile(place), "\n")

test("every command has its tag, and every tag its command", function()
  local told = {}
  for word in help:gmatch("%*:Acp%-(%l+)%*") do
    told[#told + 1] = word
  end
  local words = vim.tbl_keys(require("acp.commands").words)
  table.sort(told)
  table.sort(words)
  same(told, words)
end)

test("every setting is told with its default", function()
  local settings = help:match("\n    {\n(.-)\n    }\n")
  local told = loadstring("return {" .. settings .. "}")()
  local defaults = vim.deepcopy(require("acp.config").defaults)
  defaults.keys = { chat = {}, prompt = {}, diff = {} }
  same(told, defaults)
end)

test("every key of the settings is told", function()
  local keys = help:match("7%. KEYS(.*)8%. SETTINGS")
  for _, buffer in pairs(require("acp.config").defaults.keys) do
    for key in pairs(buffer) do
      assert(keys:find(key, 1, true), key)
    end
  end
end)

test("every action that a key names is there and has words", function()
  local actions = require("acp.actions")
  for name, buffer in pairs(require("acp.config").defaults.keys) do
    for _, action in pairs(buffer) do
      assert(name == "diff" or actions[action], action)
      assert(require("acp.ui.keys").words[action], action)
    end
  end
end)

test("every colour is told", function()
  local told = help:match("10%. COLOURS(.*)11%. WHEN")
  for name in pairs(require("acp.ui.colours").links) do
    assert(told:find(name .. "[,%.]"), name)
  end
end)

test("no function of Neovim is younger than 0.10", function()
  local since = {}
  for _, facts in ipairs(vim.fn.api_info().functions) do
    since[facts.name] = facts.since
  end
  for _, path in ipairs(vim.fn.glob(vim.fs.dirname(here) .. "/{lua,plugin}/**/*.lua", true, true)) do
    for name in table.concat(vim.fn.readfile(path), "\n"):gmatch("vim%.api%.(nvim_[%w_]+)") do
      assert(since[name] and since[name] <= 12, ("%s: %s"):format(path, name)) -- 12 is the level of 0.10
    end
  end
end)

test("the tags of the help are fresh (`:helptags doc` makes them)", function()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder)
  vim.fn.writefile(vim.fn.readfile(place), folder .. "/acp.txt")
  vim.cmd.helptags(folder)
  same(vim.fn.readfile(vim.fs.joinpath(vim.fs.dirname(place), "tags")), vim.fn.readfile(folder .. "/tags"))
end)
