"""USI options and their values, under their usual names: those that the single engine and the fleet share, with one
default and one range, and the single engine's own, with their meaning for engine, game and clock.

Nothing compiled is imported here: ``usi`` is answered before that is loaded.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from worker.clock.gui_clock import TimeOptions
from worker.clock.timecontrol import ClockSettings
from worker.engine import ROOT_MATE_NODES
from worker.rules import EnteringKingRule, Rules
from worker.score import MAX_EVAL

if TYPE_CHECKING:
    from worker.book import BookSettings

_WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,1000}")
"""Python refuses to read a number with several thousand digits."""
_TEXTS: Final = ("string", "filename")
EMPTY: Final = "<empty>"
"""The value by which USI marks an empty text."""
_NO_BOOK: Final = "no_book"
_MOST_KEPT: Final = 0.5
"""The share of the time at stake that is kept back at most: the defaults of the delays suit times of many seconds."""
_AT_STAKE_MS: Final = 10_000
"""From this time at stake, ``NetworkDelay2`` is kept back in full."""
_NO_TIME_MS: Final = 1000
"""The time for a move if all clock values of the GUI are 0, which means no time at all or no limit."""


@dataclass(frozen=True, slots=True)
class Option:
    """A USI option, of ours or of another engine: its type, default and allowed values.

    Numbers lie within ``least`` to ``most`` (None: any), the values of a combo are in ``choices``.
    """

    kind: str
    default: str = ""
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    def line(self, name: str) -> str:
        """Its line in the answer to ``usi``."""
        text = f"option name {name} type {self.kind} default {self.default}"
        if self.kind == "spin":
            text += f" min {self.least} max {self.most}"
        return text + "".join(f" var {choice}" for choice in self.choices)

    def fault(self, name: str, value: str) -> str | None:
        """The reason why ``value`` is not allowed, or None."""
        if self.kind == "check" and value not in ("true", "false"):
            return f"option {name}: {value!r} is neither true nor false"
        if self.kind == "combo" and self.choices and value not in self.choices:
            return f"option {name}: {value!r} is none of {', '.join(self.choices)}"
        if self.kind == "spin":
            if not _WHOLE_NUMBER.fullmatch(value):
                return f"option {name}: {value!r} is no whole number"
            number = int(value)
            if (self.least is not None and number < self.least) or (self.most is not None and number > self.most):
                return f"option {name}: {value} is not within {self.least} to {self.most}"
        return None


BOOK_OPTIONS: Final = {
    "USI_OwnBook": Option("check", "true"),
    "BookFile": Option("filename", _NO_BOOK),
    "BookDir": Option("string", "book"),
    "BookOnTheFly": Option("check", "false"),
    "BookMoves": Option("spin", "16", 0, 10_000),
    "BookIgnoreRate": Option("spin", "0", 0, 100),
    "NarrowBook": Option("check", "false"),
    "BookEvalDiff": Option("spin", "30", 0, 99_999),
    "BookEvalBlackLimit": Option("spin", "0", -99_999, 99_999),
    "BookEvalWhiteLimit": Option("spin", "-140", -99_999, 99_999),
    "BookDepthLimit": Option("spin", "16", 0, 99_999),
    "ConsiderBookMoveCount": Option("check", "false"),
    "BookPvMoves": Option("spin", "8", 1, 246),
    "IgnoreBookPly": Option("check", "false"),
    "FlippedBook": Option("check", "true"),
}
"""Options of a player's book, with YaneuraOu's names and defaults."""


MOST_THREADS: Final = 512


def engine_options(
    hash_mb: int = 128, eval_file: str = "", fv_scale: int = 0, architecture: str = ""
) -> dict[str, Option]:
    """Options from which an engine is made, with these defaults (else those of the configuration)."""
    return {
        "USI_Hash": Option("spin", str(hash_mb), 1, 1 << 20),
        "Threads": Option("spin", "1", 1, MOST_THREADS),
        "EvalDir": Option("string", EMPTY),
        "EvalFile": Option("filename", eval_file or EMPTY),
        "EvalArchitecture": Option("string", architecture or EMPTY),
        "FV_SCALE": Option("spin", str(fv_scale), 0, 1024),
    }


def entering_option(rules: Iterable[EnteringKingRule]) -> Option:
    """``EnteringKingRule`` with these values."""
    return Option("combo", EnteringKingRule.CSA_27, choices=tuple(rules))


PLAY_OPTIONS: Final = {
    "USI_Ponder": Option("check", "true"),
    "MultiPV": Option("spin", "1", 1, 593),
    "NetworkDelay": Option("spin", "120", 0, 10_000),
    "NetworkDelay2": Option("spin", "1120", 0, 10_000),
    "MinimumThinkingTime": Option("spin", "0", 0, 60_000),
    "SlowMover": Option("spin", "100", 1, 1000),
    "RoundUpToFullSecond": Option("check", "true"),
    "MaxMovesToDraw": Option("spin", "0", 0, 100_000),
    "DrawValueBlack": Option("spin", "-2", 1 - MAX_EVAL, MAX_EVAL - 1),
    "DrawValueWhite": Option("spin", "-2", 1 - MAX_EVAL, MAX_EVAL - 1),
    "ResignValue": Option("spin", "99999", 0, 99_999),
    "DepthLimit": Option("spin", "0", 0, 500),
    "NodesLimit": Option("spin", "0", 0, 1 << 53),
    "PvInterval": Option("spin", "300", 0, 100_000),
    **BOOK_OPTIONS,
}
"""Options of play. 0 means "none" for FV_SCALE (the network's own value, else 16), MaxMovesToDraw, DepthLimit,
NodesLimit and PvInterval. The ranges are those that the fleet's messages allow (`cluster.network.messages`)."""

OPTIONS: Final = {
    **engine_options(),
    **PLAY_OPTIONS,
    "Stochastic_Ponder": Option("check", "false"),
    "EnteringKingRule": entering_option(EnteringKingRule),
    "GenerateAllLegalMoves": Option("check", "false"),
    "RootMateSearchNodesLimit": Option("spin", str(ROOT_MATE_NODES), 0, (1 << 32) - 1),
}
"""The single engine's. RootMateSearchNodesLimit (ふかうら王's name) 0 means no mate search."""


class OptionValues(ABC):
    """The current values of the options in ``table``."""

    @property
    @abstractmethod
    def plan(self) -> Any:
        """The values that determine the searcher: another plan needs another searcher."""

    def __init__(self, table: Mapping[str, Option]) -> None:
        self.table = table
        self._values = {name: option.default for name, option in table.items()}

    def set(self, name: str, value: str) -> None:
        """Set an option. If the value is text, surrounding blanks are part of it.

        Raises:
            ValueError: the name or the value is wrong; nothing is changed.
        """
        option = self.table.get(name)
        if option is None:
            raise ValueError(f"unknown option {name!r}")
        if option.kind not in _TEXTS:
            value = value.strip()
        fault = option.fault(name, value)
        if fault is not None:
            raise ValueError(fault)
        self._values[name] = value

    def number(self, name: str) -> int:
        return int(self._values[name])

    def flag(self, name: str) -> bool:
        return self._values[name] == "true"

    def text(self, name: str) -> str:
        """A text value; an empty one as ``""``."""
        value = self._values[name]
        return "" if value == EMPTY else value

    @property
    def network(self) -> str:
        """``EvalFile``, a file or a folder, within ``EvalDir`` if that is set; ``EvalDir`` alone is the network's
        folder. Empty: none is set."""
        folder, file = self.text("EvalDir"), self.text("EvalFile")
        if folder and (not file or self._values["EvalFile"] == self.table["EvalFile"].default):
            return folder
        return str(Path(folder) / file) if folder else file

    @property
    def time_options(self) -> TimeOptions:
        """``NetworkDelay`` is kept back on each move, ``NetworkDelay2`` from the last of the time."""
        delay, last_delay = self.number("NetworkDelay"), self.number("NetworkDelay2")
        clock = ClockSettings(
            network_margin_ms=delay,
            most_reserve_ms=max(0, last_delay - delay),
            reserve_share=max(0.1, (last_delay - delay) / _AT_STAKE_MS),  # in full from there on
            most_kept=_MOST_KEPT,
            slow_mover=self.number("SlowMover"),
            unlimited_ms=_NO_TIME_MS,
        )
        return TimeOptions(
            clock=clock,
            least_ms=self.number("MinimumThinkingTime"),
            full_seconds=self.flag("RoundUpToFullSecond"),
            max_moves=self.number("MaxMovesToDraw"),
        )

    @property
    def book(self) -> BookSettings:
        from worker.book import BookSettings

        return BookSettings(
            file=self._book_file(),
            on_the_fly=self.flag("BookOnTheFly"),
            narrow=self.flag("NarrowBook"),
            last_ply=self.number("BookMoves"),
            ignore_percent=self.number("BookIgnoreRate"),
            eval_diff=self.number("BookEvalDiff"),
            eval_limits=(self.number("BookEvalBlackLimit"), self.number("BookEvalWhiteLimit")),
            depth_limit=self.number("BookDepthLimit"),
            by_count=self.flag("ConsiderBookMoveCount"),
            pv_moves=self.number("BookPvMoves"),
            any_ply=self.flag("IgnoreBookPly"),
            flipped=self.flag("FlippedBook"),
        )

    def _book_file(self) -> Path | None:
        """``BookFile`` within ``BookDir``, unless it is an absolute path."""
        folder, file = self.text("BookDir"), self.text("BookFile")
        if not self.flag("USI_OwnBook") or file in ("", _NO_BOOK):
            return None
        return Path(folder) / file


class Options(OptionValues):
    """The single engine's options."""

    def __init__(self) -> None:
        super().__init__(OPTIONS)

    @property
    def plan(self) -> tuple[int, int, str | None, int | None, str]:
        """The values that an engine is built from: (hash in MB, threads, network, FV_SCALE, its architecture)."""
        return (
            self.number("USI_Hash"),
            self.number("Threads"),
            self.network or None,
            self.number("FV_SCALE") or None,
            self.text("EvalArchitecture"),
        )

    @property
    def rules(self) -> Rules:
        return Rules(
            entering=EnteringKingRule(self.text("EnteringKingRule")),
            max_moves=self.number("MaxMovesToDraw"),
            draw_black=self.number("DrawValueBlack"),
            draw_white=self.number("DrawValueWhite"),
            every_move=self.flag("GenerateAllLegalMoves"),
        )
