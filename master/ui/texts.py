"""The master's messages in the user's language."""

from __future__ import annotations

from worker.text import Catalogue

say = Catalogue("master").text
