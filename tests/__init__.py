"""The tests: see docs/testing.md for the tiers and what each proves."""
