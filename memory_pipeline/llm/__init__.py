"""Who writes the text: the port and its two implementations."""
