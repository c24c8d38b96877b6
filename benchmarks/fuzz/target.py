"""The shape of a fuzz target: a reader of foreign bytes, the errors that it may raise, and inputs to start with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures"


class Target(ABC):
    """One entry point for bytes from outside.

    `one` catches the errors that the reader documents, so any other exception is a fault.
    """

    name: str

    @abstractmethod
    def seeds(self) -> Iterator[bytes]:
        """Valid inputs, from which others are made."""

    @abstractmethod
    def one(self, data: bytes) -> None:
        """Read ``data``.

        Raises:
            Exception: any is a fault of the reader.
        """


def server_lines() -> Iterator[bytes]:
    """Everything that the real server sent in each recorded session, one text per session."""
    for path in sorted((FIXTURES / "csa").glob("*.txt")):
        said = [line.split(b"S> ", 1)[1] for line in path.read_bytes().splitlines() if b" S> " in line]
        if said:
            yield b"\n".join(said) + b"\n"


def client_lines() -> Iterator[bytes]:
    """Everything that each recorded client sent, one text per session."""
    for path in sorted((FIXTURES / "csa").glob("*.txt")):
        said = [line.split(b"C> ", 1)[1] for line in path.read_bytes().splitlines() if b" C> " in line]
        if said:
            yield b"\n".join(said) + b"\n"
