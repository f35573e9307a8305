"""The rules as data: which package stands on which layer, which modules are pure, how large things may grow."""

from __future__ import annotations

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"base"}),
    frozenset({"messages", "jsonrpc"}),
    frozenset({"session"}),
    frozenset({"persistence", "llm", "sandbox"}),
    frozenset({"compaction", "tools"}),
    frozenset({"lsp"}),
    frozenset({"agent"}),
    frozenset({"acp"}),
    frozenset({"app"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)
"""From the bottom up. A package imports lower layers and itself; those on one layer do not know each other."""

PURE: tuple[str, ...] = (
    "base",
    "messages",
    "session",
    "jsonrpc.framing",
    "jsonrpc.envelope",
    "jsonrpc.encoding",
    "jsonrpc.errors",
    "persistence.frames",
    "persistence.packed_log",
    "persistence.paths",
    "persistence.port",
    "persistence.records",
    "persistence.rows",
    "persistence.scan",
    "tools.beside",
    "tools.client_side",
    "tools.tool",
    "llm.adapter",
    "llm.adapters",
    "llm.catalog",
    "llm.failure",
    "llm.limits",
    "llm.masking",
    "llm.model_table",
    "llm.retry",
    "llm.retry_after",
    "llm.scripted.parse",
    "llm.scripted.script",
    "llm.sse",
    "sandbox.bwrap",
    "sandbox.environment",
    "sandbox.facts",
    "sandbox.hosts",
    "sandbox.landlock",
    "sandbox.limits",
    "sandbox.lists",
    "sandbox.macos",
    "sandbox.markers",
    "sandbox.output",
    "sandbox.policy",
    "sandbox.profile",
    "sandbox.readable",
    "sandbox.seccomp",
    "sandbox.verdict",
    "agent.contexts",
    "agent.modes",
    "agent.presets",
    "agent.system_prompt",
    "agent.turns",
    "acp.content",
    "acp.failures",
    "acp.frames",
    "acp.handshake",
    "acp.modes",
    "acp.plan",
    "acp.times",
    "acp.tool_cards",
    "acp.updates",
    "app.model_facts",
    "app.row",
    "app.rows",
    "app.toml_lines",
)
"""Modules, and packages with all that is in them, that have to be functions of their arguments.

A module whose docstring says "Pure" is held to it as well.
"""

IMPURE_IMPORTS: frozenset[str] = frozenset(
    {
        "asyncio",
        "concurrent",
        "contextvars",
        "fcntl",
        "getpass",
        "glob",
        "http",
        "httpcore",
        "httpx",
        "io",
        "logging",
        "mmap",
        "multiprocessing",
        "os",
        "pathlib",
        "posix",
        "random",
        "resource",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "sqlite3",
        "ssl",
        "subprocess",
        "sys",
        "tempfile",
        "termios",
        "threading",
        "time",
        "urllib.request",
        "uuid",
        "watchfiles",
    }
)
"""What reaches a file, a clock, a socket, a process, a thread or a random number."""

PURE_PARTS: frozenset[str] = frozenset({"io.BytesIO", "io.StringIO", "pathlib.PurePath", "pathlib.PurePosixPath"})
"""Names from those modules that touch nothing outside memory."""

IMPURE_CALLS: frozenset[str] = frozenset({"open", "print", "input", "breakpoint"})
"""Builtins that no pure module calls."""

IMPURE_METHODS: frozenset[str] = frozenset({"now", "utcnow", "today"})
"""Methods of `datetime` and `date` that read the clock."""

START_PATH: frozenset[str] = frozenset(
    {
        "__main__",
        "acp.start",
        "acp.extensions",
        "app.composition",
        "app.core",
        "app.editor",
        "app.first_list",
        "app.later_transport",
        "app.machine",
        "app.mcp_sessions",
        "app.model_runtime",
        "app.parts",
        "app.session_access",
        "app.session_tools",
        "persistence.catalog",
        "tools.late_tool",
    }
)
"""Where an import of our own may stand inside a function: the start imports as it goes, composition warms up late."""

VAGUE_NAMES: tuple[str, ...] = ("Manager", "Helper", "Helpers", "Util", "Utils", "Handler", "Base")
"""Words that say nothing about what a module or a class owns."""

MODULE_LINES = 300
FUNCTION_LINES = 40
ARGUMENTS = 6
PUBLIC_METHODS = 12
"""Sizes that the report marks. They are no failures: a seam is worth more than a number."""

CEILINGS: dict[str, int] = {
    "README.md": 150,
    "AGENTS.md": 120,
    "CONTRIBUTING.md": 120,
    "docs/architecture.md": 250,
    "docs/walkthrough.md": 200,
    "docs/protocol.md": 60,
    "docs/log-format.md": 350,
    "docs/event-catalog.md": 1000,
    "docs/llm.md": 200,
    "docs/sandbox.md": 230,
    "docs/testing.md": 150,
    "docs/glossary.md": 100,
}
"""Lines a document may have. A longer one holds two subjects, or says things that another one owns."""

CEILINGS_BY_FOLDER: dict[str, int] = {"docs/how-to": 80, "docs/decisions": 60, "docs": 200}
"""For documents without a row of their own."""

HOSTS: frozenset[str] = frozenset(
    {
        "127.0.0.1",
        "localhost",
        "[::1]",
        "agentclientprotocol.com",
        "json-schema.org",
        "modelcontextprotocol.io",
        "api.anthropic.com",
        "api.deepseek.com",
        "api.mistral.ai",
        "api.moonshot.ai",
        "api.openai.com",
        "api.search.brave.com",
        "api.z.ai",
        "dashscope-intl.aliyuncs.com",
        "generativelanguage.googleapis.com",
        "openrouter.ai",
        "www.w3.org",
    }
)
"""Hosts that a tracked file may name: this machine, the standards, and the providers' own addresses."""
