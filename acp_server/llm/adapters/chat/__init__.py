"""Chat Completions: the protocol that most model servers speak, each in a dialect of its own."""
