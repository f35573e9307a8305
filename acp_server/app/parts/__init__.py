"""The components that are shipped: each a factory that a row names, registered as anybody's would be."""
