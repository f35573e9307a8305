"""JSON-RPC 2.0 over newline-framed stdio: framing, envelopes, dispatch, outbox, the process's pipes."""
