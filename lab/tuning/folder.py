"""The folder of a run: settings, openings, a line for each pair of games. The same command resumes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.match.folder import GamesFolder
from lab.tuning.spsa import SpsaError
from lab.tuning.state import PairResult, TuneSettings, TuningError, TuningRun


class TuningFolder(GamesFolder[PairResult]):
    """A folder with ``tune.json``, ``openings.txt`` and ``results.jsonl``."""

    command = "gougi tune"
    refused = TuningError

    def __init__(self, path: Path) -> None:
        super().__init__(path, "tune.json", "results.jsonl", PairResult)

    def comparable(self, facts: dict[str, Any]) -> dict[str, Any]:
        """The settings with each parameter under its name, so that a difference names it; ``after``: their order."""
        spsa = dict(facts.get("spsa", {}))
        parameters = spsa.pop("parameters", [])
        names = ("", *(one["name"] for one in parameters))
        named = {one["name"]: {**one, "after": before} for one, before in zip(parameters, names, strict=False)}
        return {**facts, "spsa": spsa, "parameters": named}

    def known(self) -> TuneSettings:
        """The settings. Raises TuningError, OSError."""
        if not self.settings.exists():
            raise TuningError(f"{self.path}: no run of gougi tune in it")
        facts = self.known_facts(self.settings)
        try:
            return TuneSettings.from_json(facts)
        except TuningError as error:
            raise TuningError(f"{self.settings}: {error}") from error

    def run(self, settings: TuneSettings, *, mend: bool) -> tuple[TuningRun, str]:
        """The part of the run that is played, and a notice for the user (or nothing). ``mend``: as for `read`.

        Raises:
            TuningError: there are no openings, a line is damaged, or a pair occurs twice; the text names it.
            OSError: a file cannot be read, or not be repaired.
        """
        openings = self.known_openings()
        if not openings:
            raise TuningError(f"{self.path}: the run has not begun: it has no openings yet")
        run = TuningRun(settings, openings)
        results, notice = self.read(mend=mend)
        for number, result in enumerate(results, start=1):
            try:
                run.take(result)
            except SpsaError as error:
                raise TuningError(f"{self.results}, line {number}: {error}") from error
        return run, notice
