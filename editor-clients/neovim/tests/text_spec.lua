-- Mentions, proposed changes, bars, completion, settings: functions of their arguments.

local bar = require("acp.ui.bar")
local changes = require("acp.ui.changes")
local completion = require("acp.ui.completion")
local config = require("acp.config")
local form = require("acp.ui.form")
local mentions = require("acp.mentions")
local pickers = require("acp.ui.pickers")

local FILES = { ["a.lua"] = "/srv/a.lua", ["a b.txt"] = "/srv/a b.txt", ["/etc/hosts"] = "/etc/hosts" }
local look = {
  file = function(path)
    return FILES[path]
  end,
  lines = function(path, first, last)
    return ("%s %d %d"):format(path, first, last)
  end,
}

test("a mention of a file becomes a link in its place", function()
  same(mentions.blocks("see @a.lua, please", look), {
    { type = "text", text = "see " },
    { type = "resource_link", uri = "file:///srv/a.lua", name = "a.lua" },
    { type = "text", text = ", please" },
  })
  same(mentions.blocks('@"a b.txt"', look), {
    { type = "resource_link", uri = "file:///srv/a%20b.txt", name = "a b.txt" },
  })
  same(#mentions.blocks("(@/etc/hosts) @a.lua", look), 4)
end)

test("a mention of lines becomes their text", function()
  same(mentions.blocks("@a.lua:3-9", look), {
    {
      type = "resource",
      resource = { uri = "file:///srv/a.lua#L3-L9", mimeType = "text/plain", text = "/srv/a.lua 3 9" },
    },
  })
end)

test("what names no file stays text", function()
  for _, text in ipairs({ "me@a.lua", "@nobody", "@", "@ a.lua", "a @@b", "@missing.lua:1-2", "" }) do
    local blocks = mentions.blocks(text, look)
    same(blocks, text ~= "" and { { type = "text", text = text } } or {})
  end
end)

local function diff(old, new)
  return { type = "diff", path = "/x", oldText = old, newText = new }
end

test("a proposed change is seen on the whole file", function()
  same(changes.proposed("a\nb\nc\n", { diff("b", "B") }), "a\nB\nc\n")
  same(changes.proposed("a\nb\n", { diff("a", "A"), diff("b", "B") }), "A\nB\n")
  same(changes.proposed("a\n", { diff("a\n", "new\n") }), "new\n")
  same(changes.proposed(nil, { diff(nil, "new\n") }), "new\n")
  same(changes.proposed("a\n", { diff("%a+", "x") }), nil)
  same(changes.proposed(nil, { diff("a", "x") }), nil)
end)

test("diffs are counted and grouped by file", function()
  same({ changes.count("a\nb\n", "a\nc\nd\n") }, { 2, 1 })
  same({ changes.count("", "a\nb") }, { 2, 0 })
  local call = { toolCallId = "t", content = { diff("a", "b"), { type = "content" }, diff("c", "d") } }
  same(changes.by_file(call), { { path = "/x", diffs = { call.content[1], call.content[3] } } })
end)

local function session(more)
  return vim.tbl_extend("force", {
    title = "A title that is rather long",
    modes = { currentModeId = "ask", availableModes = { { id = "ask", name = "Ask" } } },
    option = function(_, name)
      return name == "model" and { currentValue = "m", options = { { value = "m", name = "Model" } } } or nil
    end,
    entries = {},
    questions = {},
    queue = {},
    status = "open",
    running = false,
    started_ns = 0,
    usage = { used = 3009, size = 200000 },
  }, more or {})
end

---@param text string
---@return string
local function seen(text)
  return (text:gsub("%%#.-#", ""):gsub("%%[=<]", "|"):gsub("%%%%", "%%"))
end

test("the bar says what matters in the room that there is", function()
  local icons = config.defaults.icons
  same(seen(bar.chat(session(), icons, 0, 80)), " A title that is rather long · Ask · Model||3k/200k 2% ")
  same(seen(bar.chat(session(), icons, 0, 40)), " A title that is rat… · Ask · Model||2% ")
  same(seen(bar.chat(session(), icons, 0, 26)), " A title that … · Ask||2% ")
  local busy = session({ running = true, entries = { { status = "completed" }, { status = "pending" } } })
  same(
    seen(bar.chat(busy, icons, 61e9, 80)),
    " A title that is rather long · Ask · Model ◐ 1m01s||plan 1/2 · 3k/200k 2% "
  )
  same(seen(bar.chat(session({ title = "50%" }), icons, 0, 80)), " 50% · Ask · Model||3k/200k 2% ")
  same(bar.line(nil, icons, 0), "")
  same(seen(bar.prompt(session({ queue = { "x" } }))), " Enter sends · / commands · @ files · g? keys · 1 waiting ")
end)

test("numbers are short", function()
  same({ bar.tokens(999), bar.tokens(1000), bar.tokens(12345), bar.tokens(2000000) }, { "999", "1k", "12.3k", "2M" })
  same(bar.usage({ used = 1, size = 3, cost = { amount = 0.25, currency = "USD" } }), "1/3 33% 0.25 USD")
  same(bar.usage({ used = 1, size = 0 }), nil)
end)

test("moments are told by how long ago they were", function()
  local now = 1764547200 -- 2025-12-01T00:00:00Z
  same(pickers.ago("2025-11-30T23:59:30Z", now), "just now")
  same(pickers.ago("2025-11-30T23:00:00.123Z", now), "1 h ago")
  same(pickers.ago("2025-11-29T00:00:00Z", now), "2 d ago")
  same(pickers.ago("2024-02-29T00:00:00Z", now), "641 d ago")
  same(pickers.ago(nil, now), "")
end)

test("slash commands complete at the beginning, files behind a sign", function()
  local one = { commands = { { name = "compact", input = { hint = "what" } }, { name = "help" } }, cwd = "/nowhere" }
  local start, items = completion.items(one, "/c", true)
  same({ start, items[1].word, #items }, { 0, "/compact ", 1 })
  same({ completion.items(one, "/c", false) }, { nil, {} })
  same({ completion.items(one, "me@x", true) }, { nil, {} })
  same({ completion.items(one, "text", true) }, { nil, {} })
  same((completion.items(one, "see @x", true)), 4)
end)

test("files whose name begins with the letters come first", function()
  local words = vim.tbl_map(function(item)
    return item.word
  end, completion.files({ "src/other/main.lua", "domain.lua", "main/x.lua", "Main a.lua", "z" }, "main"))
  same(words, { '@"Main a.lua"', "@src/other/main.lua", "@main/x.lua", "@domain.lua" })
end)

test("a form asks choices before lines", function()
  local fields =
    { answer = { type = "string" }, choice = { type = "string", oneOf = { { const = "a", title = "A" } } } }
  same(form.order(fields, {}), { "choice", "answer" })
  same(form.choices(fields.choice), { { value = "a", title = "A" } })
  same(form.choices(fields.answer), nil)
  same(form.order({ b = { type = "string" }, a = { type = "boolean" } }, { "b" }), { "b", "a" })
end)

test("an unknown setting is refused by its name", function()
  local function refused(settings)
    local _, wrong = pcall(config.setup, settings)
    return wrong
  end
  same(refused({ colour = 1 }), "acp: there is no setting colour")
  same(refused({ size = "wide" }), "acp: size has to be a number")
  same(refused({ folds = { plans = true } }), "acp: there is no setting folds.plans")
  assert(refused({ position = "top" }):find("position is right, left, bottom or tab", 1, true))
  config.setup({ command = { "one" }, keys = { chat = { x = "stop", ["<CR>"] = false } } })
  same({ config.values.command, config.values.keys.chat.x, config.values.keys.chat.q }, { { "one" }, "stop", "hide" })
  config.setup()
end)
