"""Our own clients for editors: their units, and whole stories in the editors themselves."""
