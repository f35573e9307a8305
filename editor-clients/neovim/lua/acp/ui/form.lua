-- Owns the questions of an agent that have fields (elicitation): each field in turn by vim.ui.select or vim.ui.input.

local idle = require("acp.ui.idle")

local M = {}

---@class acp.Field
---@field type string
---@field title? string
---@field description? string
---@field enum? string[]
---@field oneOf? { const: string, title?: string }[]
---@field items? table
---@field default? any

---Answers elicitation/create.
---@param params { mode?: string, message?: string, requestedSchema?: table }
---@param reply acp.Reply
function M.serve(params, reply)
  if params.mode ~= "form" or type(params.requestedSchema) ~= "table" then
    return reply(nil, { action = "decline" })
  end
  local schema = params.requestedSchema
  local required = schema.required or {}
  local names = M.order(schema.properties or {}, required)
  idle.when(function(free)
    M.ask(params.message or "", schema.properties or {}, required, names, function(result)
      free()
      reply(nil, result)
    end)
  end)
end

---Asks the fields in turn and gives the answer to the form.
---@param message string
---@param fields table<string, acp.Field>
---@param required string[]
---@param names string[]
---@param answer fun(result: table)
function M.ask(message, fields, required, names, answer)
  local content = {}
  local function ask(place)
    local name = names[place]
    if not name then
      return answer(next(content) and { action = "accept", content = content } or { action = "decline" })
    end
    M.field(message, name, fields[name], function(value)
      if value == nil and vim.tbl_contains(required, name) then
        return answer({ action = "cancel" })
      end
      content[name] = value
      local settled = value ~= nil and M.settles(names, place)
      ask(settled and #names + 1 or place + 1)
    end)
  end
  ask(1)
end

---Returns the fields in the order in which they are asked: choices first, lines to be written last.
---@param properties table<string, acp.Field>
---@param required string[]
---@return string[]
function M.order(properties, required)
  local names = vim.tbl_keys(properties)
  local function weight(name)
    local field = properties[name]
    return (vim.tbl_contains(required, name) and 0 or 2) + (M.choices(field) and 0 or 1)
  end
  table.sort(names, function(one, other)
    local mine, its = weight(one), weight(other)
    return mine == its and one < other or mine < its
  end)
  return names
end

---Returns whether a value for this field answers the form: a choice beside a line for other words.
---@param names string[]
---@param place integer
---@return boolean
function M.settles(names, place)
  return names[place] == "choice" and names[place + 1] == "answer" and #names == place + 1
end

---Returns the values that a field may have, nil when it is to be written.
---@param field acp.Field
---@return { value: any, title: string }[]?
function M.choices(field)
  local source = field.type == "array" and field.items or field
  if field.type == "boolean" then
    return { { value = true, title = "Yes" }, { value = false, title = "No" } }
  end
  local found = {}
  for _, value in ipairs(source.enum or {}) do
    found[#found + 1] = { value = value, title = value }
  end
  for _, entry in ipairs(source.oneOf or source.anyOf or {}) do
    found[#found + 1] = { value = entry.const, title = entry.title or entry.const }
  end
  return #found > 0 and found or nil
end

---@param message string
---@param name string
---@param field acp.Field
---@param done fun(value: any)
function M.field(message, name, field, done)
  local prompt = message ~= "" and message or field.title or field.description or name
  local choices = M.choices(field)
  if choices and field.type == "array" then
    return M.several(prompt, choices, {}, done)
  elseif choices then
    return vim.ui.select(choices, {
      prompt = prompt,
      kind = "acp-form",
      format_item = function(choice)
        return choice.title
      end,
    }, function(choice)
      done(choice and choice.value)
    end)
  end
  vim.ui.input({ prompt = prompt .. " ", default = field.default and tostring(field.default) }, function(text)
    if text and (field.type == "number" or field.type == "integer") then
      return done(tonumber(text))
    end
    done(text ~= "" and text or nil)
  end)
end

---@param prompt string
---@param choices { value: any, title: string }[]
---@param taken any[]
---@param done fun(value: any)
function M.several(prompt, choices, taken, done)
  local left = vim.tbl_filter(function(choice)
    return not vim.tbl_contains(taken, choice.value)
  end, choices)
  table.insert(left, { value = M, title = ("Done (%d chosen)"):format(#taken) })
  vim.ui.select(left, {
    prompt = prompt,
    kind = "acp-form",
    format_item = function(choice)
      return choice.title
    end,
  }, function(choice)
    if not choice or choice.value == M or #left == 1 then
      return done(choice and #taken > 0 and taken or nil)
    end
    taken[#taken + 1] = choice.value
    M.several(prompt, choices, taken, done)
  end)
end

return M
