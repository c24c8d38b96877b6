"""The master's messages in the user's language."""

from __future__ import annotations

import os
from collections.abc import Mapping

from worker.text import Catalogue, is_japanese, japanese

_CATALOGUE = Catalogue("master", "cluster", "worker")
say = _CATALOGUE.text
error_words = _CATALOGUE.error
"""An error in the user's language, if it is translated."""


def later(message: str) -> str:
    """The message unchanged. It marks a message that `say` translates later, for the test that looks for its
    Japanese."""
    return message


def page_say(message: str, **fields: object) -> str:
    """A message of the analysis' report, in the language of `page_words`."""
    return page_words().get(message, message).format_map(fields)


def page_words() -> Mapping[str, str]:
    """The Japanese of the analysis' HTML page, which any browser can show; empty: it is English."""
    return japanese("master", "page") if is_japanese(os.environ) else {}
