"""Composition: settings, credentials, and the only place that constructs services."""
