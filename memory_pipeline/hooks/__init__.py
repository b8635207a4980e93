"""Writing ourselves into the agents' own settings, so that their new sessions ask for context, and out again."""
