"""Lines, messages and sequences that nobody thought of, against a live server: `python -m tests.fuzz --help`."""
