"""Review between the phases: labels, readiness, and who may pass."""
