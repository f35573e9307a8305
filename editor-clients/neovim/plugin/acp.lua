-- Defines `:Acp`. Loads nothing else before it is used.

if vim.g.loaded_acp then
  return
end
vim.g.loaded_acp = true

vim.api.nvim_create_user_command("Acp", function(given)
  require("acp").command(given)
end, {
  nargs = "*",
  range = true,
  desc = "Talk to a coding agent",
  complete = function(lead, line)
    return require("acp.commands").complete(lead, line)
  end,
})

vim.keymap.set("n", "<Plug>(acp-toggle)", "<Cmd>Acp<CR>", { desc = "acp: show or hide the chat" })
vim.keymap.set("x", "<Plug>(acp-add)", ":Acp add<CR>", { desc = "acp: put the selection into the prompt" })
