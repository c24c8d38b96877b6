"""The master's messages in the user's language."""

from __future__ import annotations

from worker.text import Catalogue

_CATALOGUE = Catalogue("master", "cluster", "worker")
say = _CATALOGUE.text
error_words = _CATALOGUE.error
"""An error in the user's language, where it is shown."""


def later(message: str) -> str:
    """The message as it is: one that `say` will be given later, for the test that looks for its Japanese."""
    return message
