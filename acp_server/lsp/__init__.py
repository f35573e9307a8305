"""Language servers: which there are, how one is confined and spoken to, and what a model is told of their findings."""
