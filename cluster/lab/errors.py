"""What the laboratory says where it cannot go on."""

from __future__ import annotations


class LabError(ValueError):
    """The laboratory cannot do what was asked; the text says what is wrong, and where."""
