"""The files of a folder that have to be copied to the archive, and the time of each copy. Pure; times are seconds since
1970.

The folder itself is the spool: a file waits there until a copy of just this state of it has arrived. What has arrived
is kept in a small file beside, so that nothing is lost or copied twice over a crash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

QUIET_S: Final = 20.0
"""A file that did not change for so long is complete for now: a game has ended, or its next move takes long."""
LATEST_S: Final = 600.0
"""A file that changes all the time (the log) is copied this often."""


@dataclass(frozen=True, slots=True)
class FileState:
    """``changed_ns``: its modification time."""

    size: int
    changed_ns: int


@dataclass(slots=True)
class Spool:
    """See the module's text. Keys are paths below the folder."""

    arrived: dict[str, FileState] = field(default_factory=dict)
    _tried: dict[str, float] = field(default_factory=dict)
    """The time at which the last copy of a file was begun."""
    _failures: int = 0
    _not_before: float = 0.0

    def due(self, files: Mapping[str, FileState], now: float, *, last: bool = False) -> list[str]:
        """The files to copy now, the one that waits longest first. ``last``: nothing more will come, so all that is
        new."""
        if now < self._not_before and not last:
            return []
        found = []
        for key, state in files.items():
            if state == self.arrived.get(key):
                continue
            quiet = now - state.changed_ns / 1e9 >= QUIET_S
            late = now - self._tried.setdefault(key, now) >= LATEST_S
            if quiet or late or last:
                found.append(key)
        return sorted(found, key=lambda key: files[key].changed_ns)

    def done(self, key: str, state: FileState, now: float) -> None:
        """A copy of the file in that state has arrived."""
        self.arrived[key] = state
        self._tried[key] = now
        self._failures, self._not_before = 0, 0.0

    def failed(self, now: float) -> None:
        """A copy did not arrive: wait before the next one, longer each time, ten minutes at most."""
        self._failures += 1
        self._not_before = now + min(600.0, 5.0 * 2 ** (self._failures - 1))

    def encode(self) -> bytes:
        return json.dumps({key: [state.size, state.changed_ns] for key, state in self.arrived.items()}).encode()


def decode(data: bytes) -> Spool:
    """The spool as `Spool.encode` wrote it. One that cannot be read is empty: everything is copied once more."""
    try:
        return Spool({str(key): FileState(int(size), int(when)) for key, (size, when) in json.loads(data).items()})
    except (ValueError, TypeError, AttributeError):
        return Spool()
