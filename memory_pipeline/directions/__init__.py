"""Finds the directions to keep in a person's words: preferences, procedures, decisions, corrections and lasting facts.

A direction is something that the person wants to hold, or tells as holding, beyond the moment. One-off requests,
questions, reported errors, what the product shall do, and whatever the person only pasted or quoted are none. English
and Chinese are read in full; Japanese, Korean, German, French, Spanish, Portuguese and Russian by their plainest words.
When in doubt, a text gives no direction: a missed one will be said again, a false one is obeyed.
"""

from __future__ import annotations

from memory_pipeline.directions.engine import asks_for_work, find_directions, gives_direction, is_order
from memory_pipeline.directions.statement import Direction
from memory_pipeline.directions.words import Sentence, own_words, sentences

__all__ = [
    "Direction",
    "Sentence",
    "asks_for_work",
    "find_directions",
    "gives_direction",
    "is_order",
    "own_words",
    "sentences",
]
