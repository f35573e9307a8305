"""The Agent Client Protocol front end: routes, session controllers, updates, content."""
