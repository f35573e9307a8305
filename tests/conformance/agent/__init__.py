"""A small agent that meets the protocol, and can be made to break one clause at a time: what proves the kit.

It speaks Chat Completions to the model that OPENAI_BASE_URL names, keeps a session as lines of JSON, and has no
sandbox.
"""
