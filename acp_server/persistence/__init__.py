"""Session logs on disk: pure frames, rows, records and scan; effects in journal, writer, catalog, lock and recovery."""
