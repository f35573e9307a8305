"""Session logs on disk: a pure half (frames, rows, records, scan) and an effect half (journal, writer, catalog, lock, recovery)."""
