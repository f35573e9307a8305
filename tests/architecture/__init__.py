"""What the shape of the code has to obey, read from the source and never from the running program."""
