"""The client of the Model Context Protocol: servers that bring tools, and what is made of them (docs/mcp.md)."""
