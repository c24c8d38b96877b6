"""The address of a CSA server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

DEFAULT_PORT: Final = 4081


@dataclass(frozen=True, slots=True)
class ServerAddress:
    host: str
    port: int = DEFAULT_PORT

    @classmethod
    def parse(cls, text: str) -> Self:
        """``HOST`` or ``HOST:PORT``; an IPv6 address in brackets. Raises ValueError."""
        host, colon, port = text.rpartition(":")
        if not colon or text.endswith("]"):
            host, port = text, str(DEFAULT_PORT)
        bare = ":" in host and not (host.startswith("[") and host.endswith("]"))
        host = host.removeprefix("[").removesuffix("]")
        if not host or bare or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
            raise ValueError(f"{text!r} is not HOST:PORT, such as wdoor.c.u-tokyo.ac.jp:4081")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
