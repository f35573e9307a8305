"""The clauses of docs/protocol.md, table by table, against one live server a module."""
