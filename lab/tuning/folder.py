"""The folder of a run: settings, openings, a line for each pair of games. The same command goes on with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.match.folder import GamesFolder
from lab.tuning.run import PairResult, TuneSettings, TuningError, TuningRun
from lab.tuning.spsa import SpsaError
from worker.files import replace_file


class TuningFolder(GamesFolder[PairResult]):
    """A folder with ``tune.json``, ``openings.txt``, ``results.jsonl`` and ``parameters.svg``."""

    command = "gougi tune"
    refused = TuningError

    def __init__(self, path: Path) -> None:
        super().__init__(path, "results.jsonl", PairResult.from_line, lambda played: str(played.name))
        self.settings = path / "tune.json"
        self.plot = path / "parameters.svg"

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
            self.keep_facts(self.settings, {"code": code, **settings.to_json()})
            self.openings.unlink(missing_ok=True)  # of another seed, it may be
            return ""
        known, before = self.known()
        self.check_settings(_by_name(known), _by_name(settings))
        if before != code:
            return f"{self.path}: the sources are not those it was begun with: games of both are counted together"
        return ""

    def known(self) -> tuple[TuneSettings, str]:
        """The settings, and the version of the sources that it was begun with. Raises TuningError, OSError."""
        if not self.settings.exists():
            raise TuningError(f"{self.path}: no run of gougi tune in it")
        facts = self.known_facts(self.settings)
        try:
            return TuneSettings.from_json(facts), str(facts["code"])
        except (KeyError, TuningError) as error:
            raise TuningError(f"{self.settings}: {error}") from error

    def run(self, settings: TuneSettings, *, mend: bool) -> tuple[TuningRun, str]:
        """The part of the run that is played, and what the user should know (or nothing). ``mend``: as for `read`.

        Raises:
            TuningError: there are no openings, or a line is damaged, or a pair is there twice; the text names it.
            OSError: a file cannot be read, or not be mended.
        """
        openings = self.known_openings()
        if not openings:
            raise TuningError(f"{self.path}: the run has not begun: it has no openings yet")
        run = TuningRun(settings, openings)
        results, notice = self.read(mend=mend)
        for number, played in enumerate(results, start=1):
            try:
                run.take(played)
            except (TuningError, SpsaError) as error:
                raise TuningError(f"{self.results}, line {number}: {error}") from error
        return run, notice

    def keep_plot(self, svg: str) -> None:
        """Write the plot. Raises OSError."""
        replace_file(self.plot, svg.encode())


def _by_name(settings: TuneSettings) -> dict[str, Any]:
    """The settings with each parameter under its name, so that a difference names it; ``after``: their order counts."""
    facts = settings.to_json()
    names = ("", *settings.names)
    return {
        **facts,
        "parameters": {
            one["name"]: {**one, "after": before}
            for one, before in zip(facts["spsa"].pop("parameters"), names, strict=False)
        },
    }
