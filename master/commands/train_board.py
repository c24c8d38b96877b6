"""What ``gougi train`` shows: how far it is, and what came out."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from master.commands.selfplay_board import span
from master.ui.terminal import raw

if TYPE_CHECKING:
    from worker.training.network.trainer import Progress, Row

_CLEAR_LINE: Final = "\r\x1b[2K"
_EACH_S: Final = 0.5


class Board:
    """The standing on stderr: one line at a terminal, else a line for each validation."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._first: tuple[float, int, int] | None = None
        self._shown = 0.0
        self._last: Progress | None = None

    def take(self, progress: Progress) -> None:
        """A batch was learned from."""
        now = time.monotonic()
        if self._first is None:
            self._first = (now, progress.positions, progress.over)
        self._last = progress
        if self._live and now - self._shown >= _EACH_S:
            self._shown = now
            width = shutil.get_terminal_size().columns
            raw(sys.stderr).write(_CLEAR_LINE)
            print(self._line()[: width - 1], end="", file=sys.stderr, flush=True)

    def row(self, row: Row) -> None:
        """A validation is over."""
        if not self._live:
            text = f"{self._line()}, validation {row.validation_loss:.5f}"
            print(text + (" in integers" if row.quantised else ""), file=sys.stderr, flush=True)

    def rate(self) -> float:
        """Positions a second of wall time; 0: not known yet."""
        if self._first is None or self._last is None:
            return 0.0
        began, positions, _ = self._first
        spent = time.monotonic() - began
        return (self._last.positions - positions) / spent if spent > 0 else 0.0

    def _line(self) -> str:
        last = self._last
        if last is None or self._first is None:
            return "not a position yet"
        text = f"{last.over / last.total:.1%}: {last.positions:,} positions, epoch {last.epoch + 1}"
        if last.loss:
            text += f", loss {last.loss:.5f}"
        if last.validation_loss is not None and self._live:
            text += f" (validation {last.validation_loss:.5f})"
        if self.rate():
            text += f", {self.rate():,.0f} positions a second"
            began, _, over = self._first
            if last.over > over and last.over < last.total:
                left = (time.monotonic() - began) * (last.total - last.over) / (last.over - over)
                text += f", {span(left)} left"
        return text

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            print(file=sys.stderr, flush=True)


def summary(report: dict[str, Any]) -> str:
    """The report of a run as lines."""
    layers = ", ".join(f"{name} {rms:.1f}" for name, rms in report["quantised_rms_by_layer"].items())
    return "\n".join(
        (
            f"{report['net']}: {report['positions']:,} positions of {report['games']:,} games, "
            f"validation loss {report['validation_loss']:.5f}",
            f"win-rate scale {report['scale']:,.0f} centipawns",
            f"integers against floating point: {report['quantised_rms']:.1f} centipawns rms ({layers})",
        )
    )
