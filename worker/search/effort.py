"""Default amounts of work of the engine. No compiled code: options name them before any is loaded."""

from __future__ import annotations

from typing import Final

ROOT_MATE_NODES: Final = 300_000
"""Visits of nodes that a search for mate at the root may take; about a quarter of a second of one core."""
