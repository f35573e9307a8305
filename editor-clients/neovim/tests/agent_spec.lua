-- The plugin without a screen against a real agent, whose command ACP_COMMAND names as a JSON list.

local config = require("acp.config")
local hub = require("acp.hub")
local transcript = require("acp.transcript")

assert(vim.env.ACP_COMMAND, "ACP_COMMAND is not set")
config.setup({ command = vim.json.decode(vim.env.ACP_COMMAND), restart = 1 })
require("acp").wire()

---@param session acp.Session
---@param kind string
---@return string
local function said(session, kind)
  local found = {}
  for _, block in ipairs(session.transcript.blocks) do
    if block.kind == kind then
      found[#found + 1] = transcript.text(block)
    end
  end
  return table.concat(found, "|")
end

---@param ... string
---@return string
local function script(...)
  return table.concat({ "@script", ... }, "\n")
end

---@param session acp.Session
local function idle(session)
  wait(function()
    return session.status == "open" and not session.running and #session.queue == 0
  end, "the end of the turn")
end

test("several conversations run beside each other and do not cross", function()
  local all = {}
  for number = 1, 4 do
    all[number] = hub.session(vim.fn.getcwd())
    all[number]:prompt(script("chunks 20", ("say %s"):format(("text-%d "):format(number):rep(30))))
  end
  for number, session in ipairs(all) do
    idle(session)
    same(said(session, "agent"), (("text-%d "):format(number)):rep(30):sub(1, -2))
    hub.close(session)
  end
  same(#hub.sessions(), 0)
end)

test("prompts that are sent while a turn runs wait their turn", function()
  local session = hub.session(vim.fn.getcwd())
  for _, word in ipairs({ "one", "two", "three" }) do
    session:prompt(script("say " .. word))
  end
  idle(session)
  same(said(session, "agent"), "one|two|three")
end)

test("a burst is drawn whole while the main loop keeps its turns", function()
  local session = hub.session(vim.fn.getcwd())
  idle(session)
  local longest, last = 0, vim.uv.hrtime()
  local timer = assert(vim.uv.new_timer())
  timer:start(
    0,
    5,
    vim.schedule_wrap(function()
      local now = vim.uv.hrtime()
      longest, last = math.max(longest, now - last), now
    end)
  )
  local start = vim.uv.hrtime()
  session:prompt(script("burst 5000 word-{n}\\s"))
  idle(session)
  local took = (vim.uv.hrtime() - start) / 1e6
  timer:close()
  local page = require("acp.ui.chat").page(session)
  page.painter:draw()
  local text = table.concat(vim.api.nvim_buf_get_lines(page.painter.buf, 0, -1, false), "\n")
  assert(text:find("word-0 word-1 ", 1, true) and text:find("word-4998 word-4999", 1, true), "it is not whole")
  io.stdout:write(("# 5000 deltas in %.0f ms, longest pause of the main loop %.0f ms\n"):format(took, longest / 1e6))
  assert(longest < 2e9, "the main loop was held up")
end)

test("a question is answered once, by the person or by a stop", function()
  local session = hub.session(vim.fn.getcwd())
  config.values.questions = "never"
  local write = 'call write {"path": "made.txt", "content": "x"}'
  session:prompt(script(write, "step", "say after"))
  wait(function()
    return #session.questions == 1
  end, "a question")
  local question = session.questions[1]
  session:decide(question, question.options[1])
  session:decide(question, question.options[#question.options])
  idle(session)
  same({ said(session, "agent"), vim.fn.readfile("made.txt") }, { "after", { "x" } })
  session:prompt(script('call write {"path": "other.txt", "content": "x"}', "step", "say after"))
  wait(function()
    return #session.questions == 1
  end, "a question")
  session:prompt("what waits")
  local returned
  session:listen(function(event, texts)
    returned = event == "returned" and texts or returned
  end)
  session:stop()
  idle(session)
  same({ returned, session.questions, vim.fn.filereadable("other.txt") }, { { "what waits" }, {}, 0 })
  same(said(session, "notice"), "Stopped.")
end)

test("a killed agent is started again and shows the same conversation", function()
  local session = hub.session(vim.fn.getcwd())
  session:prompt(script("think hm", 'call read {"path": "made.txt"}', "step", "say here"))
  idle(session)
  local id, pid = session.id, hub.client():pid()
  vim.uv.kill(assert(pid), "sigkill")
  wait(function()
    return hub.client():pid() ~= pid and session.status == "open"
  end, "the agent")
  same({ session.id, said(session, "agent"), said(session, "thought") }, { id, "here", "hm" })
  assert(said(session, "notice"):find("ended by signal 9. It was started again", 1, true), said(session, "notice"))
  session:prompt(script("say on"))
  idle(session)
  same(said(session, "agent"), "here|on")
end)

test("an agent that dies over and over is left alone until it is wanted", function()
  local session = hub.session(vim.fn.getcwd())
  idle(session)
  vim.uv.kill(assert(hub.client():pid()), "sigkill")
  wait(function()
    return hub.client().state == "off"
  end, "the end")
  vim.wait(500)
  same({ hub.client().state, session.status }, { "off", "lost" })
  session:prompt(script("say wanted"))
  idle(session)
  same(said(session, "agent"), "wanted")
end)

test("the list is what the agent has stored", function()
  local found
  hub.list(vim.fn.getcwd(), function(_, entries)
    found = entries
  end)
  wait(function()
    return found
  end, "the list")
  same(#found >= 5, true)
end)

hub.reset()
