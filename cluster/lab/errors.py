"""Errors that end the laboratory."""

from __future__ import annotations


class LabError(ValueError):
    """The laboratory cannot do what was asked; the text says what is wrong, and where."""
