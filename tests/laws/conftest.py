"""No example is late: how long one takes says more of the machine than of a law."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unhurried", settings(), deadline=None)
settings.load_profile("unhurried")
