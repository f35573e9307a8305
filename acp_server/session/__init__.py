"""One conversation as an append-only event log, and what is folded from it. Pure."""
