"""Anthropic's Messages, spoken by several other providers too."""
