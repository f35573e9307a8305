"""The real command over real pipes, driven by raw lines and by independent clients."""
