"""The subcommands of the acp-server command."""
