-- Updates to blocks, and blocks to lines.

local card = require("acp.ui.card")
local config = require("acp.config")
local format = require("acp.ui.format")
local markdown = require("acp.ui.markdown")
local transcript = require("acp.transcript")

---@return acp.Transcript, string[]
local function fresh()
  local told = {}
  return transcript.new("/srv", function(change)
    told[#told + 1] = ("%s %d"):format(change.how, change.index)
  end),
    told
end

local function chunk(kind, text, id)
  return { sessionUpdate = kind, content = { type = "text", text = text }, messageId = id }
end

local function shape(block)
  return format.block(block, config.defaults, function(path)
    return path
  end)
end

test("chunks of one message are one block, those of the next another", function()
  local one, told = fresh()
  one:apply(chunk("agent_thought_chunk", "hm", "1"))
  one:apply(chunk("agent_message_chunk", "a", "2"))
  one:apply(chunk("agent_message_chunk", "b\nc", "2"))
  one:apply(chunk("agent_message_chunk", "d", "3"))
  same(told, { "new 1", "close 1", "new 2", "append 2", "close 2", "new 3" })
  same(vim.tbl_map(transcript.text, one.blocks), { "hm", "ab\nc", "d" })
end)

test("a call is one block, changed where it stands", function()
  local one, told = fresh()
  one:apply({ sessionUpdate = "tool_call", toolCallId = "t", title = "write", kind = "edit", status = "pending" })
  one:apply(chunk("agent_message_chunk", "meanwhile", "2"))
  one:apply({ sessionUpdate = "tool_call_update", toolCallId = "t", title = "Write x", status = "completed" })
  same(told, { "new 1", "new 2", "change 1" })
  same({ one.blocks[1].call.title, one.blocks[1].call.kind }, { "Write x", "edit" })
  same(one:place("t"), 1)
end)

test("what a call is asked keeps the call's own content", function()
  local one = fresh()
  one:apply({ sessionUpdate = "tool_call", toolCallId = "t", title = "x", content = { { type = "diff" } } })
  one:asked({ toolCallId = "t", title = "X", content = {}, rawInput = { reason = "r" } }, "why")
  same(one.blocks[1].call.content, { { type = "diff" } })
  same(one.blocks[1].question, { words = "why" })
  one:decided("t", "Allow once")
  same(one.blocks[1].question, { words = "why", answer = "Allow once" })
end)

test("a plan is changed within its turn and begun anew in the next one", function()
  local one, told = fresh()
  local function plan(...)
    one:apply({ sessionUpdate = "plan", entries = { ... } })
  end
  plan()
  plan({ content = "a", status = "pending" })
  plan({ content = "a", status = "completed" })
  one:said("next")
  plan({ content = "b", status = "pending" })
  same(told, { "new 1", "change 1", "new 2", "close 2", "new 3" })
  same(shape(one.blocks[1]).lines, { "**Plan** 1 of 1", "- [x] a" })
end)

test("other updates are left to the session", function()
  local one, told = fresh()
  same(one:apply({ sessionUpdate = "usage_update", used = 1, size = 2 }), false)
  same(told, {})
end)

test("links and pieces of files are shown as they are written", function()
  local one = fresh()
  local link = { type = "resource_link", uri = "file:///srv/src/a%20b.lua", name = "a b.lua" }
  same(one:words(link), "@src/a b.lua")
  same(one:words({ type = "resource", resource = { uri = "file:///srv/x.py#L3-L9" } }), "@x.py:3-9")
  same(one:words({ type = "image", mimeType = "image/png" }), "[image image/png]")
  same(one:path("/elsewhere/x"), "/elsewhere/x")
end)

test("appended text continues its block, a thought as a quotation", function()
  same(format.more({ kind = "agent" }, "a\nb"), { "a", "b" })
  same(format.more({ kind = "thought" }, "a\nb"), { "a", "> b" })
  same(shape({ kind = "thought", parts = { "a\nb" } }).lines, { "> _Thought_", "> a", "> b" })
  same(shape({ kind = "user", parts = { "a\nb" } }).lines, { "## You", "a", "b" })
end)

test("a code block that is left open is closed, so that it breaks nothing", function()
  same(markdown.open_fence("a\n```lua\nx"), "```")
  same(markdown.open_fence("````\n```\n"), "````")
  same(markdown.open_fence("```\nx\n```\n"), nil)
  same(markdown.open_fence("~~~\n```\n~~~"), nil)
  same(markdown.open_fence("``` not `one\n"), nil)
  same(shape({ kind = "user", parts = { "```\nx" }, closed = true }).lines, { "## You", "```", "x", "```" })
end)

test("text of tools stands in fences that it cannot close", function()
  same(markdown.fence("a ``` b ````` c"), "``````")
  same(markdown.span("ls"), "`ls`")
  same(markdown.span("echo `x`"), "`` echo `x` ``")
  same(markdown.line("a\n b\tc "), "a  b c")
end)

test("a card has its state, its diffs and its output", function()
  local call = {
    toolCallId = "t",
    title = "Edit x.py",
    status = "completed",
    content = {
      { type = "diff", path = "/srv/x.py", oldText = "a\nb\n", newText = "a\nc\nd\n" },
      { type = "content", content = { type = "text", text = "Edited.\n" } },
    },
  }
  local found = shape({ kind = "tool", call = call })
  same(found.lines, {
    "✓ `Edit x.py` +2 -1",
    "```diff",
    "/srv/x.py",
    "@@ -1,2 +1,3 @@",
    " a",
    "-b",
    "+c",
    "+d",
    "```",
    "```text",
    "Edited.",
    "```",
  })
  same(found.fold, true)
  local title = found.lines[1]
  local mark = found.marks[2]
  same(title:sub(mark.col + 1, mark.stop), "+2")
  same(title:sub(found.marks[3].col + 1, found.marks[3].stop), "-1")
end)

test("output of a running command is its end, and an open question is the last line", function()
  local lines = {}
  for number = 1, 40 do
    lines[number] = tostring(number)
  end
  local call = { toolCallId = "t", title = "seq", status = "in_progress" }
  call.content = { { type = "content", content = { type = "text", text = table.concat(lines, "\n") } } }
  local found = shape({ kind = "tool", call = call, question = { words = "May\nit?" } })
  same({ found.lines[3], found.lines[4], #found.lines }, { "… 28 lines before", "29", 17 })
  same(found.lines[#found.lines], "? May it?")
  same(found.fold, false)
  same(card.cut({ "a", "b", "c" }, 2), { "a", "b", "… 1 more lines" })
end)
