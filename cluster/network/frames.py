"""Pickles prefixed with their length: the format by which processes of one user on one machine communicate."""

from __future__ import annotations

import asyncio
import pickle
import struct
from collections.abc import Iterator
from typing import Any

_LENGTH = struct.Struct(">I")


def frame(value: object) -> bytes:
    """``value`` as the bytes to send."""
    data = pickle.dumps(value)
    return _LENGTH.pack(len(data)) + data


async def read_frame(stream: asyncio.StreamReader) -> Any:
    """Wait for the next value.

    Raises:
        asyncio.IncompleteReadError: the stream has ended.
    """
    (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
    return pickle.loads(await stream.readexactly(length))


class Frames:
    """Reassembles values from pieces of a stream."""

    def __init__(self) -> None:
        self._data = bytearray()

    def take(self, piece: bytes) -> Iterator[Any]:
        """The values that are complete after ``piece``."""
        self._data += piece
        while len(self._data) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data)
            end = _LENGTH.size + length
            if len(self._data) < end:
                return
            value = pickle.loads(self._data[_LENGTH.size : end])
            del self._data[:end]
            yield value
