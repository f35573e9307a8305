-- Lines, JSON-RPC and processes.

local lines = require("acp.wire.lines")
local process = require("acp.wire.process")
local rpc = require("acp.wire.rpc")

test("bytes become lines wherever they are cut", function()
  local whole = "one\n\ntwo\r\nthree \u{2028} still three\nfour"
  for cut = 0, #whole do
    local splitter = lines.new(100)
    local found = splitter:feed(whole:sub(1, cut))
    vim.list_extend(found, splitter:feed(whole:sub(cut + 1)))
    vim.list_extend(found, splitter:feed("\n"))
    same(found, { "one", "two", "three \u{2028} still three", "four" })
  end
end)

test("a line that is too long is dropped, the next one is not", function()
  local splitter = lines.new(5)
  same(splitter:feed("123456789"), {})
  same(splitter:feed("0\nshort\n"), { "short" })
end)

---@param serve? table<string, acp.Serve>
---@param hear? table<string, fun(params: table)>
---@return acp.Peer, table[]
local function peer(serve, hear)
  local sent = {}
  return rpc.new(function(line)
    sent[#sent + 1] = vim.json.decode(line)
  end, serve or {}, hear or {}), sent
end

test("a request is answered once, by its id", function()
  local one, sent = peer()
  local found = {}
  one:request("first", {}, function(err, result)
    found[#found + 1] = { "first", err, result }
  end)
  one:request("second", { list = {} }, function(err, result)
    found[#found + 1] = { "second", err, result }
  end)
  same(sent[1], { jsonrpc = "2.0", id = 1, method = "first", params = {} })
  one:receive('{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"no"}}')
  one:receive('{"jsonrpc":"2.0","id":1,"result":{"fine":true}}')
  one:receive('{"jsonrpc":"2.0","id":1,"result":{"again":true}}')
  one:receive("no JSON")
  one:receive("[1]")
  same(found, { { "second", { code = -32600, message = "no" } }, { "first", nil, { fine = true } } })
end)

test("empty parameters are an object, an empty list in them a list", function()
  local raw
  local one = rpc.new(function(line)
    raw = line
  end, {}, {})
  one:notify("x", {})
  assert(raw:find('"params":{}', 1, true), raw)
  one:notify("x", { mcpServers = {} })
  assert(raw:find('"mcpServers":[]', 1, true), raw)
end)

test("requests of the other side are served, refused, or failed, with one answer each", function()
  local heard
  local one, sent = peer({
    good = function(params, reply, request)
      reply(nil, { got = params.x, request = request })
      reply(nil, { twice = true })
    end,
    bad = function()
      error("fault")
    end,
  }, {
    told = function(params)
      heard = params
    end,
  })
  one:receive('{"jsonrpc":"2.0","id":"a","method":"good","params":{"x":1}}')
  one:receive('{"jsonrpc":"2.0","id":0,"method":"missing"}')
  one:receive('{"jsonrpc":"2.0","id":1,"method":"bad"}')
  one:receive('{"jsonrpc":"2.0","method":"told","params":{"y":null,"z":2}}')
  one:receive('{"jsonrpc":"2.0","method":"unheard"}')
  same(sent[1], { jsonrpc = "2.0", id = "a", result = { got = 1, request = "a" } })
  same(sent[2].error.code, -32601)
  same(sent[3].error.code, -32603)
  same(#sent, 3)
  same(heard, { z = 2 })
end)

test("what waits fails when the connection ends, and what comes later at once", function()
  local one = peer()
  local found = {}
  local function reply(err)
    found[#found + 1] = err.message
  end
  one:request("x", {}, reply)
  one:close("it ended")
  one:request("y", {}, reply)
  same(found, { "it ended", "it ended" })
end)

test("words for a person come from the details", function()
  same(rpc.words({ code = 1, message = "m", data = { details = "d" } }), "d")
  same(rpc.words({ code = 1, message = "m", data = {} }), "m")
end)

test("a process is read line by line and its end is told last", function()
  local found = {}
  local started =
    assert(process.start({ "sh", "-c", "read x; echo got $x; echo oops >&2; printf unfinished; exit 3" }, {
      on_line = function(line)
        found[#found + 1] = line
      end,
      on_exit = function(how)
        found[#found + 1] = how
      end,
    }))
  same(found, {})
  started:write("it")
  wait(function()
    return #found == 2
  end, "the end")
  same(found, { "got it", "ended with status 3" })
  same(started.stderr, { "oops" })
  same(started:is_running(), false)
  started:write("lost")
  started:stop()
end)

test("a command that is not there is told in a sentence", function()
  local started, wrong = process.start({ "/there/is/no/agent" }, { on_line = print, on_exit = print })
  same(started, nil)
  assert(wrong and wrong:find("^/there/is/no/agent cannot be started"), wrong)
end)

test("a flood of lines leaves the main loop its turns", function()
  local inbox = require("acp.wire.inbox")
  local taken, turns, over = 0, 0, false
  local box = inbox.new(function()
    local stop = vim.uv.hrtime() + 1e5
    while vim.uv.hrtime() < stop do
    end
    taken = taken + 1
  end)
  local all = {}
  for place = 1, 1000 do
    all[place] = "x"
  end
  box:put(all)
  box:close(function()
    over = true
  end)
  local timer = assert(vim.uv.new_timer())
  timer:start(
    0,
    1,
    vim.schedule_wrap(function()
      turns = turns + 1
    end)
  )
  wait(function()
    return over
  end, "the end of the flood")
  timer:close()
  same(taken, 1000)
  assert(turns > 3, turns)
end)

test("an agent of another version, and one that ends at once, are told to who waits", function()
  local client = require("acp.client")
  local function refused(words)
    local one, found = client.new({ "sh", "-c", words }, {}, {}), nil
    one:request("session/list", {}, function(err)
      found = err
    end)
    wait(function()
      return found
    end, "the refusal")
    return { found.message, one.state }
  end
  local answer = [[read x; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2}}'; read x]]
  same(refused(answer), { "The agent speaks another version of the protocol.", "off" })
  same(refused("echo no key >&2; exit 4"), { "The agent ended with status 4: no key.", "off" })
end)
