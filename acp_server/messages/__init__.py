"""The neutral vocabulary between log, loop and providers: messages, blocks, chunks, requests. Pure."""
