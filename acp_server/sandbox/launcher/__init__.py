"""A program of its own that builds a box and runs one command in it; started by path, with nothing installed."""
