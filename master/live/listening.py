"""The live page's address: ``HOST:PORT``, a port of this machine alone, or ``off``. Pure."""

from __future__ import annotations

from typing import Final

LOOPBACK: Final = "127.0.0.1"
OFF: Final = "off"


def parse(text: str) -> tuple[str, int] | None:
    """Host and port; None: there is to be no page. The port may be 0: any that is free.

    Raises:
        ValueError: the text is none of these; it says what is expected.
    """
    if text.strip().lower() == OFF:
        return None
    host, _, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK
    if not (port.isascii() and port.isdigit() and int(port) <= 65535) or any(letter.isspace() for letter in host):
        raise ValueError(f"{text!r}: expected HOST:PORT, a port, or off")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Whether it is this machine alone, by a name that the page answers to without a token."""
    return host in ("localhost", "::1", LOOPBACK)
