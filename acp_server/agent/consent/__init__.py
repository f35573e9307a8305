"""Who decides whether a call may happen: modes, rules, the grammar of harmless commands, and the question. Pure."""
