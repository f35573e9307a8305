"""One task without an editor: `acp-server run` (docs/headless.md)."""
