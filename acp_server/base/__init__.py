"""Ids, JSON values, errors, cancellation and ports: what every other package may use. Pure."""
