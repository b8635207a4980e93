"""The logs of each agent, read as one stream of events."""
