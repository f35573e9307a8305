"""Agents: their lifecycle, their inbox, and the driver that runs turns and steps."""
