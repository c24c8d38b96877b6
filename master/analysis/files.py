"""The files of a report: each written as a whole, so that a reader never sees half of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from master.analysis.annotate import annotated
from master.analysis.html import game_page, summary_page
from master.analysis.report import GameReport, ReportSettings, players
from master.analysis.strength import Calibration
from master.records.kif import kif_bytes
from worker.files import replace_file


def page_of(folder: Path, stem: str) -> Path:
    """The page of the game ``stem``."""
    return folder / f"{stem}.html"


def write_game(folder: Path, stem: str, report: GameReport, settings: ReportSettings) -> None:
    """The page of a game, and its annotated records. Raises OSError."""
    _write(page_of(folder, stem), game_page(report, settings).encode(errors="replace"))
    record = annotated(report, settings)
    _write(folder / f"{stem}.annotated.csa", record.to_csa().encode(errors="replace"))
    _write(folder / f"{stem}.annotated.kif", kif_bytes(record.to_kif()))


def write_summary(
    folder: Path,
    stems: Sequence[str],
    reports: Sequence[GameReport],
    calibration: Calibration | None,
    settings: ReportSettings,
) -> Path:
    """The page of several games, which leads to those of each; returns it. Raises OSError."""
    page = folder / "index.html"
    linked = [(one, quote(page_of(folder, stem).name, safe="")) for one, stem in zip(reports, stems, strict=True)]
    _write(
        page,
        summary_page(linked, players(reports, calibration), settings).encode(errors="replace"),
    )
    return page


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)
