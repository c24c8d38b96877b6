"""The folder of a run: settings, openings, a line for each pair of games. The same command goes on with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.tuning.run import Played, Run
from cluster.tuning.settings import TuneSettings, TuningError
from cluster.tuning.spsa import SpsaError
from worker.arena.openings import OpeningError, read_openings, write_openings
from worker.files import append_text, reason, replace_file
from worker.run_folder import held


class TuningFolder:
    """A folder with ``tune.json``, ``openings.txt``, ``results.jsonl`` and ``parameters.svg``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings = path / "tune.json"
        self.openings = path / "openings.txt"
        self.results = path / "results.jsonl"
        self.plot = path / "parameters.svg"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder, and keep it from other processes.

        Raises:
            TuningError: another process is at work in it.
            OSError: it cannot be made.
        """
        with held(self.path, "gougi tune", TuningError):
            yield

    def claim(self, settings: TuneSettings, code: str) -> str:
        """Note the settings in a new folder, or check that those of an old one are the same.

        Args:
            code: the version of the sources.

        Returns:
            What the user should know, or nothing: games of another version of the sources are in the folder.

        Raises:
            TuningError: the folder was begun with other settings; the text names them.
            OSError: it cannot be read or written.
        """
        if not self.results.exists():
            facts = {"code": code, **settings.to_json()}
            replace_file(self.settings, (json.dumps(facts, indent=2) + "\n").encode())
            self.openings.unlink(missing_ok=True)  # of another seed, it may be
            return ""
        known, before = self.known()
        changed = _differences("", known.to_json(), settings.to_json())
        if changed:
            raise TuningError(
                f"{self.path} was begun with other settings ({'; '.join(changed)}): repeat them to go on with it, or "
                "choose another folder"
            )
        if before != code:
            return f"{self.path}: the sources are not those it was begun with: games of both are counted together"
        return ""

    def known(self) -> tuple[TuneSettings, str]:
        """The settings, and the version of the sources that it was begun with. Raises TuningError, OSError."""
        try:
            facts = json.loads(self.settings.read_text(encoding="utf-8"))
            return TuneSettings.from_json(facts), str(facts["code"])
        except FileNotFoundError:
            raise TuningError(f"{self.path}: no run of gougi tune in it") from None
        except (ValueError, KeyError, TypeError, TuningError) as error:
            raise TuningError(f"{self.settings}: {error}") from error

    def known_openings(self) -> list[str]:
        """The SFENs of the openings; none where there is no file yet. Raises TuningError: the file is damaged."""
        try:
            return read_openings(self.openings) if self.openings.exists() else []
        except OpeningError as error:
            raise TuningError(str(error)) from error

    def keep_openings(self, openings: list[str]) -> None:
        """Write the openings. Raises OSError."""
        write_openings(self.openings, openings)

    def add(self, played: Played) -> None:
        """Keep a result: a whole line, or none. Raises OSError that names the file."""
        length = self.results.stat().st_size if self.results.exists() else 0
        try:
            append_text(self.results, played.to_line() + "\n")
        except OSError:
            if self.results.exists():
                os.truncate(self.results, length)
            raise

    def read(self, settings: TuneSettings, *, mend: bool) -> Run:
        """The part of the run that is played.

        Args:
            mend: cut off a last line without its end, as a crash leaves it: its pair is played again. Else it is passed
                over.

        Raises:
            TuningError: there are no openings, or a line is damaged, or a pair is there twice; the text names it.
            OSError: a file cannot be read, or not be mended.
        """
        openings = self.known_openings()
        if not openings:
            raise TuningError(f"{self.path}: the run has not begun: it has no openings yet")
        run = Run(settings, openings)
        if not self.results.exists():
            return run
        data = self.results.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if mend and len(whole) < len(data):
            os.truncate(self.results, len(whole))
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                run.take(Played.from_line(line.decode("utf-8")))
            except (TuningError, SpsaError, UnicodeDecodeError) as error:
                raise TuningError(f"{self.results}, line {number}: {reason(error)}") from error
        return run

    def keep_plot(self, svg: str) -> None:
        """Write the plot. Raises OSError."""
        replace_file(self.plot, svg.encode())


def _differences(where: str, known: Any, wanted: Any) -> list[str]:
    """The differences, in words; parameters by their names only."""
    if isinstance(known, Mapping) and isinstance(wanted, Mapping):
        keys = dict.fromkeys((*known, *wanted))
        return [found for key in keys for found in _differences(key, known.get(key), wanted.get(key))]
    if known == wanted:
        return []
    if where == "parameters":
        before, now = ({one["name"]: one for one in side} for side in (known, wanted))
        names = [name for name in dict.fromkeys((*before, *now)) if before.get(name) != now.get(name)]
        return [f"parameters: {', '.join(names)}" if names else "the order of the parameters"]
    return [f"{where} was {known!r} and is {wanted!r}"]
