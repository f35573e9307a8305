"""OpenAI's Responses, used without state on the server's side."""
