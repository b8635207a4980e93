"""Local pipeline that turns coding agents' session logs into long-term memory."""

__version__ = "0.1.0"
