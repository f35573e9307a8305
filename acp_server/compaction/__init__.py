"""Keeping a conversation within its model's window: the meter, pruning, summaries, and the transaction in the log."""
