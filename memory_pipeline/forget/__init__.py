"""Forgetting: deletion that reaches every copy, and stays true when logs are read again or backups come back."""
