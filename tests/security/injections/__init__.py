"""Hidden instructions as data, and the world that they are played in."""
