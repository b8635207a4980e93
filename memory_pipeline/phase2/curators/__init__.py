"""Curators: who proposes what becomes of new entries; rules, and a model on a short leash."""
