-- The buffer of a chat, its folds, and files that are open.

local files = require("acp.files")
local painter = require("acp.ui.painter")
local prompt = require("acp.ui.prompt")
local transcript = require("acp.transcript")

---@return acp.Transcript, acp.Painter, fun(): string[]
local function fresh()
  local painted
  local one = transcript.new("/srv", function(change)
    painted:change(change)
  end)
  painted = painter.new(one)
  return one, painted, function()
    return vim.api.nvim_buf_get_lines(painted.buf, 0, -1, false)
  end
end

local function chunk(kind, text, id)
  return { sessionUpdate = kind, content = { type = "text", text = text }, messageId = id }
end

local function call(id, status, text)
  return {
    sessionUpdate = "tool_call_update",
    toolCallId = id,
    title = id,
    status = status,
    content = text and { { type = "content", content = { type = "text", text = text } } } or nil,
  }
end

test("what is drawn step by step is what is drawn at once", function()
  math.randomseed(7)
  local one, painted, lines = fresh()
  local function act()
    local pick = math.random(6)
    if pick == 1 then
      one:said("prompt\n```\nx")
    elseif pick == 2 then
      one:apply(chunk("agent_thought_chunk", "th\nought", "t" .. math.random(3)))
    elseif pick <= 4 then
      one:apply(chunk("agent_message_chunk", "wo\nrd ", "m" .. math.random(2)))
    else
      local states = { "pending", "in_progress", "completed" }
      one:apply(call("c" .. math.random(6), states[math.random(3)], ("line\n"):rep(math.random(5))))
    end
  end
  for _ = 1, 300 do
    act()
    if math.random(3) == 1 then
      painted:draw()
    end
  end
  painted:draw()
  local stepwise = lines()
  local again = painter.new(one)
  same(stepwise, vim.api.nvim_buf_get_lines(again.buf, 0, -1, false))
end)

test("text that is appended rewrites nothing before it", function()
  local one, painted = fresh()
  one:apply(chunk("agent_message_chunk", ("line\n"):rep(50), "1"))
  painted:draw()
  local touched = {}
  vim.api.nvim_buf_attach(painted.buf, false, {
    on_bytes = function(_, _, _, row, _, _, old_rows)
      touched[#touched + 1] = { row, old_rows }
    end,
  })
  one:apply(chunk("agent_message_chunk", "more", "1"))
  one:apply(chunk("agent_message_chunk", " and more\nlast", "1"))
  painted:draw()
  same(touched, { { 50, 0 } })
end)

test("a reader who is not at the end is left where they are", function()
  local one, painted = fresh()
  vim.cmd("new")
  local win = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(win, painted.buf)
  one:apply(chunk("agent_message_chunk", ("line\n"):rep(50), "1"))
  painted:draw()
  same(vim.api.nvim_win_get_cursor(win)[1], 51)
  vim.api.nvim_win_set_cursor(win, { 10, 0 })
  one:apply(chunk("agent_message_chunk", ("line\n"):rep(50), "1"))
  painted:draw()
  same(vim.api.nvim_win_get_cursor(win)[1], 10)
  vim.cmd("close")
end)

test("what is over is folded in every window, what a person opened stays open", function()
  local one, painted = fresh()
  vim.cmd("new")
  local win = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(win, painted.buf)
  painted:attach(win)
  vim.cmd("new")
  local function closed(line)
    return vim.api.nvim_win_call(win, function()
      return { vim.fn.foldclosed(line), vim.fn.foldclosedend(line) }
    end)
  end
  one:apply(chunk("agent_thought_chunk", "a\nb", "1"))
  painted:draw()
  same(closed(1), { -1, -1 })
  one:apply(call("c", "in_progress", "x\ny"))
  painted:draw()
  same({ closed(1), closed(5) }, { { 1, 3 }, { -1, -1 } })
  one:apply(call("c", "completed", "x\ny\nz"))
  one:apply(chunk("agent_message_chunk", "end", "2"))
  painted:draw()
  same(closed(5), { 5, 10 })
  vim.api.nvim_win_call(win, function()
    vim.cmd("5foldopen")
  end)
  one:apply(call("c", "completed", "x\ny\nz\nand more"))
  painted:draw()
  same(closed(5), { -1, -1 })
  same(painted:at(6).id, "c")
  vim.cmd("silent only | enew")
  vim.api.nvim_win_set_buf(0, painted.buf)
  painted:attach(vim.api.nvim_get_current_win())
  same({ vim.fn.foldclosed(1), vim.fn.foldclosed(5) }, { 1, 5 })
  vim.cmd("enew")
end)

---@param name string
---@param text string
---@return string
local function file(name, text)
  local path = vim.fn.tempname() .. "-" .. name
  local handle = assert(io.open(path, "wb"))
  handle:write(text)
  handle:close()
  return path
end

---@param serve fun(params: table, reply: acp.Reply)
---@param params table
---@return acp.Error?, table?
local function ask(serve, params)
  local over, err, result
  serve(params, function(...)
    over = true
    err, result = ...
  end)
  wait(function()
    return over
  end, "an answer")
  return err, result
end

test("a file is read from its buffer, unsaved, else from the disk", function()
  local path = file("r", "one\ntwo\nthree")
  local _, found = ask(files.read, { path = path })
  same(found, { content = "one\ntwo\nthree" })
  _, found = ask(files.read, { path = path, line = 2, limit = 1 })
  same(found, { content = "two" })
  vim.cmd.edit(path)
  vim.api.nvim_buf_set_lines(0, 0, 1, false, { "unsaved" })
  _, found = ask(files.read, { path = path })
  same(found, { content = "unsaved\ntwo\nthree\n" })
  vim.cmd("bwipe!")
  local err = ask(files.read, { path = "/there/is/none" })
  same(err and err.code, -32002)
end)

test("a write changes an open buffer where it differs, and saves what was saved", function()
  local path = file("w", "a\nb\nc\n")
  vim.cmd.edit(path)
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_mark(buf, "m", 3, 0, {})
  same({ ask(files.write, { path = path, content = "a\nx\ny\nc\n" }) }, { nil, {} })
  same(vim.api.nvim_buf_get_lines(buf, 0, -1, false), { "a", "x", "y", "c" })
  same(vim.api.nvim_buf_get_mark(buf, "m")[1], 4)
  same({ vim.bo[buf].modified, vim.fn.readfile(path) }, { false, { "a", "x", "y", "c" } })
  vim.api.nvim_buf_set_lines(buf, 0, 1, false, { "typed" })
  ask(files.write, { path = path, content = "typed\nx\n" })
  same(vim.api.nvim_buf_get_lines(buf, 0, -1, false), { "typed", "x" })
  same({ vim.bo[buf].modified, #vim.fn.readfile(path) }, { true, 4 })
  vim.cmd("bwipe!")
end)

test("any text becomes any other", function()
  math.randomseed(11)
  local buf = vim.api.nvim_create_buf(true, false)
  local function text()
    local lines = {}
    for place = 1, math.random(0, 8) do
      lines[place] = ("abc"):sub(math.random(3), math.random(3))
    end
    return #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
  end
  for _ = 1, 300 do
    local wanted = text()
    files.change(buf, wanted)
    local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
    same(table.concat(lines, "\n") .. "\n", wanted == "" and "\n" or wanted)
  end
end)

test("a file that is not open is written to the disk", function()
  local path = file("d", "old")
  same({ ask(files.write, { path = path, content = "new\n" }) }, { nil, {} })
  same(vim.fn.readfile(path), { "new" })
  local err = ask(files.write, { path = "/there/is/none", content = "" })
  same(err and err.code, -32603)
end)

test("prompts that were sent are recalled, the draft is kept", function()
  local one = prompt.new()
  for _, text in ipairs({ "first", "second" }) do
    one:set(text)
    same(one:take(), text)
  end
  same(one:take(), nil)
  one:set("draft")
  local seen = {}
  for place, back in ipairs({ 1, 1, 1, -1, -1, -1 }) do
    one:recall(back)
    seen[place] = one:text()
  end
  same(seen, { "second", "first", "first", "second", "draft", "draft" })
  one:give_back({ "a", "b" })
  same(one:text(), "a\n\nb\n\ndraft")
  one:set("see")
  one:add("@x ")
  same(one:text(), "see @x")
end)

test("the files that are open are told, those with unsaved text as such", function()
  local saved, changed = file("one", "x\n"), file("two", "y\n")
  vim.cmd("silent only")
  vim.cmd.edit(saved)
  vim.cmd.split(changed)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { "typed" })
  local found = files.open()
  same(found.files, { { path = saved, unsaved = false }, { path = changed, unsaved = true } })
  assert(found.active == changed or found.active == saved, found.active)
  vim.cmd("silent only | bwipe! | bwipe!")
end)
