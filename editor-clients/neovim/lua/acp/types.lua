---@meta
-- Shapes of the Agent Client Protocol, version 1, as far as this plugin reads them, and those that its modules share.

---@class acp.ContentBlock
---@field type "text"|"image"|"audio"|"resource_link"|"resource"
---@field text? string
---@field uri? string
---@field name? string
---@field mimeType? string
---@field resource? { uri: string, text?: string, mimeType?: string }

---@class acp.Location
---@field path string
---@field line? integer counted from 1

---@class acp.ToolContent
---@field type "content"|"diff"|"terminal"
---@field content? acp.ContentBlock
---@field path? string of a diff
---@field oldText? string absent for a file that is not there yet
---@field newText? string

---@class acp.ToolCall
---@field toolCallId string
---@field title? string
---@field kind? string
---@field status? "pending"|"in_progress"|"completed"|"failed"
---@field content? acp.ToolContent[]
---@field locations? acp.Location[]
---@field rawInput? table

---@class acp.PlanEntry
---@field content string
---@field status "pending"|"in_progress"|"completed"

---@class acp.Update
---@field sessionUpdate string
---@field [string] any

---@class acp.Choice
---@field value string
---@field name string
---@field description? string

---@class acp.Option
---@field id string
---@field name string
---@field category? string
---@field currentValue string
---@field options acp.Choice[]

---@class acp.Modes
---@field currentModeId string
---@field availableModes { id: string, name: string, description?: string }[]

---@class acp.SlashCommand
---@field name string
---@field description? string
---@field input? { hint?: string }

---@class acp.PermissionOption
---@field optionId string
---@field name string
---@field kind string

---@class acp.AuthMethod
---@field id string
---@field name string
---@field description? string
---@field type? string
---@field args? string[]
---@field env? table<string, string>

---@class acp.SessionEntry
---@field sessionId string
---@field cwd string
---@field title? string
---@field updatedAt? string

---@class acp.Usage
---@field used integer
---@field size integer
---@field cost? { amount: number, currency: string }

---@class acp.Error
---@field code integer
---@field message string
---@field data? table

---@class acp.Question A permission request that waits for the person.
---@field request integer|string id of the request on the wire
---@field call acp.ToolCall
---@field options acp.PermissionOption[]
---@field answer fun(option?: acp.PermissionOption) nil means: the turn was cancelled
---@field done boolean

---@class acp.Block One piece of a conversation.
---@field kind "user"|"agent"|"thought"|"tool"|"plan"|"notice"
---@field id? string of the message, the call or the compaction
---@field parts? string[] the text so far, in pieces
---@field call? acp.ToolCall
---@field question? { words: string, answer?: string }
---@field entries? acp.PlanEntry[]
---@field severity? "info"|"warning"|"error"
---@field closed? boolean whether nothing more is added to its text

---@class acp.Change
---@field index integer of the block
---@field how "new"|"append"|"change"|"close"
---@field text? string what is appended
