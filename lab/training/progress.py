"""The display of ``gougi train``: progress, and results."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from master.ui.progress import Bars

if TYPE_CHECKING:
    from lab.training.network.trainer import Progress, Row

_EACH_S: Final = 0.25


class TrainingProgress:
    """The standing on stderr: a bar at a terminal, else a line for each validation. A context manager."""

    def __init__(self) -> None:
        self._bars = Bars()
        self._bar = self._bars.bar("", None)
        self._first: tuple[float, int] | None = None
        self._shown = 0.0
        self._last: Progress | None = None

    def take(self, progress: Progress) -> None:
        """A batch was learned from."""
        now = time.monotonic()
        if self._first is None:
            self._first = (now, progress.positions)
            self._bar.begin(progress.over)
        self._last = progress
        if self._bars.live and now - self._shown >= _EACH_S:
            self._shown = now
            self._show(progress, validation=progress.validation_loss)

    def row(self, row: Row) -> None:
        """A validation is over."""
        if self._last is not None:
            self._show(self._last, validation=row.validation_loss, quantised=row.quantised, tell=True)

    def tell(self, text: str) -> None:
        """A line that stays, above the bar."""
        self._bars.note(text)

    def rate(self) -> float:
        """Positions a second of wall time; 0: not known yet."""
        if self._first is None or self._last is None:
            return 0.0
        began, positions = self._first
        spent = time.monotonic() - began
        return (self._last.positions - positions) / spent if spent > 0 else 0.0

    def _show(self, last: Progress, *, validation: float | None, quantised: bool = False, tell: bool = False) -> None:
        words = f"{last.positions:,} positions, epoch {last.epoch + 1}"
        if last.loss:
            words += f", loss {last.loss:.5f}"
        if validation is not None:
            words += f", validation {validation:.5f}" + (" in integers" if quantised else "")
        if self.rate():
            words += f", {self.rate():,.0f} positions a second"
        self._bar.show(last.over, words, total=last.total, tell=tell)

    def __enter__(self) -> TrainingProgress:
        self._bars.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.__exit__()


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
