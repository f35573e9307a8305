"""A coding-agent server for editors and scripts, speaking the Agent Client Protocol on stdio.

Importing this package loads nothing else: the start path depends on it.
"""

__version__ = "0.1.0"
