"""The bundles that are shipped, as data: one TOML file each."""
