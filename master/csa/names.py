"""Names that a player may have on a CSA server."""

from __future__ import annotations

from typing import Final

LOGIN_NAME: Final = r"[A-Za-z0-9_@.\-]{1,32}"
"""A regular expression for the whole of a login name; Shogi-server's."""
