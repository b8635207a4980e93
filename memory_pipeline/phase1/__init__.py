"""Phase one: gates, evidence, extraction."""
