"""Keeping the state safe: backups, restoring, mending a damaged database, checks, upkeep."""
