-- Owns the names of the colours. Each is a link to a group that every colour scheme has, and can be set by the person.

local M = {}

M.links = {
  AcpUser = "CursorLine",
  AcpUserTitle = "Title",
  AcpTitle = "Function",
  AcpThought = "Comment",
  AcpFold = "NonText",
  AcpPending = "Comment",
  AcpActive = "DiagnosticInfo",
  AcpCompleted = "DiagnosticOk",
  AcpFailed = "DiagnosticError",
  AcpDone = "Comment",
  AcpAdded = "Added",
  AcpRemoved = "Removed",
  AcpAddedLine = "DiffAdd",
  AcpRemovedLine = "DiffDelete",
  AcpHunk = "DiffChange",
  AcpPath = "Directory",
  AcpQuestion = "WarningMsg",
  AcpInfo = "DiagnosticInfo",
  AcpWarning = "DiagnosticWarn",
  AcpError = "DiagnosticError",
  AcpBar = "WinBar",
  AcpBarActive = "DiagnosticInfo",
  AcpBarQuestion = "WarningMsg",
}

---Defines the groups that nobody else has defined.
function M.define()
  for name, link in pairs(M.links) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M
