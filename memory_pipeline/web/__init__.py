"""The server: memories, settings and tasks over HTTP. A face over the same calls as the command line."""
