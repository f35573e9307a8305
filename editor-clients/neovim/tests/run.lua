-- Runs the specifications beside it: `nvim -l tests/run.lua [FILE …]`. One line a test; exits with 1 when one fails.

local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))
vim.opt.runtimepath:prepend(vim.fs.dirname(here))
package.path = here .. "/?.lua;" .. package.path

local failed, passed = 0, 0

---Runs one test and tells how it went.
---@param name string
---@param body fun()
function _G.test(name, body)
  local fine, wrong = xpcall(body, debug.traceback)
  if fine then
    passed = passed + 1
  else
    failed = failed + 1
  end
  io.stdout:write(("%s %s%s\n"):format(fine and "ok" or "FAILED", name, fine and "" or "\n" .. wrong))
end

---Fails unless both are alike, whatever they are made of.
---@param found any
---@param wanted any
function _G.same(found, wanted)
  if not vim.deep_equal(found, wanted) then
    error(("found  %s\nwanted %s"):format(vim.inspect(found), vim.inspect(wanted)), 2)
  end
end

---Waits, with the main loop running, until something holds.
---@param holds fun(): any
---@param what string
function _G.wait(holds, what)
  if not vim.wait(30000, holds, 10) then
    error("never came: " .. what, 2)
  end
end

local files = #_G.arg > 0 and _G.arg or vim.fn.glob(here .. "/*_spec.lua", true, true)
for _, file in ipairs(files) do
  if vim.env.ACP_COMMAND or not file:match("agent_spec") then
    dofile(file)
  end
end
io.stdout:write(("%d passed, %d failed\n"):format(passed, failed))
os.exit(failed > 0 and 1 or 0, true)
