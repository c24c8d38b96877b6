"""A USI engine's process: start and handshake, lines both ways, stderr drained, a clean end.

One thread reads stdout into a queue, another empties stderr: gpsusi writes 1.7 KB to it in each search and blocks once
the pipe is full. The engine has its own process group, so Ctrl-C at the terminal reaches it through us only, and `kill`
ends its children too.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

from worker.engine import Bound, EngineError, Limits, SearchInfo
from worker.score import MATE_BOUND, MAX_EVAL, MAX_PLY, mate_in, mated_in
from worker.usi.options import Option

_LONGEST_MATE: Final = 1023
"""Plies. `worker.score` cannot represent a longer mate; ``mate +`` without a number counts as this one."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words of ``go`` that an engine understands. An unknown word ends gpsusi's process.

    We always end the search with our own ``stop``; without ``movetime`` the engine gets byoyomi.
    """

    movetime: bool = True
    nodes: bool = True
    depth: bool = True
    searchmoves: bool = True


DIALECTS: Final = {"gpsshogi": Dialect(movetime=False, nodes=False, depth=False, searchmoves=False)}
"""By the first word of ``id name``. gpsusi 0.7 throws on `movetime`, `nodes`, `depth`, and does not know
`searchmoves`."""


def dialect_of(name: str) -> Dialect:
    """The dialect of an engine that announced ``name``."""
    return DIALECTS.get(name.split(" ", 1)[0], Dialect())


def parse_option(line: str) -> tuple[str, Option] | None:
    """Name and option of an ``option name N type T ...`` line, N with or without blanks; None if it is not such a
    line."""
    head, found, rest = line.partition(" type ")
    if not found or not head.startswith("option name "):
        return None
    words = rest.split()
    if not words:
        return None
    numbers: dict[str, int] = {}
    for word, value in itertools.pairwise(words[1:]):
        if word in ("min", "max") and value.lstrip("-").isdigit():
            numbers[word] = int(value)
    choices = [part.split(" default ")[0].strip() for part in rest.split(" var ")[1:]]
    option = Option(words[0], least=numbers.get("min"), most=numbers.get("max"), choices=tuple(choices))
    return head.removeprefix("option name ").strip(), option


def parse_score(words: Sequence[str]) -> int | None:
    """The score after the word ``score``: ``cp 34``, ``mate 7``, ``mate -4``, ``mate +``, ``mate -``. None: neither."""
    if len(words) < 2:
        return None
    kind, text = words[0], words[1]
    if kind == "cp":
        number = _number(text)
        return None if number is None else max(-MAX_EVAL, min(MAX_EVAL, number))
    if kind != "mate":
        return None
    if text in ("+", "-"):
        return MATE_BOUND + 1 if text == "+" else -(MATE_BOUND + 1)
    plies = _number(text)
    if plies is None:
        return None
    distance = min(abs(plies), _LONGEST_MATE)
    return mated_in(distance) if plies <= 0 else mate_in(distance)


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


_INFO_NUMBERS: Final = {
    "depth": MAX_PLY,
    "seldepth": MAX_PLY,
    "time": 1 << 40,
    "nodes": 1 << 62,
    "hashfull": 1000,
    "multipv": 1 << 16,
}
"""By name, the largest accepted value; an engine may send anything."""


def parse_info(line: str, legal_pv: Callable[[Sequence[str]], tuple[str, ...]]) -> SearchInfo | None:
    """An ``info`` line with a score and a PV; None for any other. Missing fields are 0 (``multipv``: 1).

    Args:
        legal_pv: the legal beginning of a PV (engines end theirs with words such as ``resign`` or ``rep_draw``).
    """
    words = line.split()
    if words[:1] != ["info"] or words[1:2] == ["string"]:
        return None
    numbers = dict.fromkeys(_INFO_NUMBERS, 0) | {"multipv": 1}
    score: int | None = None
    bound = Bound.EXACT
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if word == "pv":
            break
        if word in _INFO_NUMBERS and at < len(words):
            numbers[word] = min(max(0, _number(words[at]) or 0), _INFO_NUMBERS[word])
            at += 1
        elif word == "score":
            score = parse_score(words[at : at + 2])
            at += 2
        elif word == "lowerbound":
            bound = Bound.LOWER
        elif word == "upperbound":
            bound = Bound.UPPER
    pv = legal_pv(words[at:])
    if score is None or not pv:
        return None
    return SearchInfo(
        depth=numbers["depth"],
        seldepth=max(numbers["seldepth"], numbers["depth"]),
        score=score,
        bound=bound,
        nodes=numbers["nodes"],
        time_ms=numbers["time"],
        hashfull=numbers["hashfull"],
        pv=pv,
        multipv=max(1, numbers["multipv"]),
    )


def parse_nodes(line: str) -> int | None:
    """The node count of any ``info`` line (engines send it apart from the PV); None if it has none."""
    words = line.split()
    if words[:1] != ["info"] or words[1:2] == ["string"] or "nodes" not in words[:-1]:
        return None
    number = _number(words[words.index("nodes") + 1])
    return None if number is None else min(max(0, number), _INFO_NUMBERS["nodes"])


def parse_bestmove(line: str) -> tuple[str, str | None]:
    """``bestmove M [ponder P]`` as (M, P).

    Raises:
        EngineError: no move follows.
    """
    words = line.split()
    if len(words) < 2:
        raise EngineError("bestmove without a move")
    ponder = words[3] if len(words) > 3 and words[2] == "ponder" else None
    return words[1], ponder


def go_line(limits: Limits, searchmoves: Sequence[str], dialect: Dialect) -> str:
    """The ``go`` line for these limits in an engine's dialect.

    Args:
        searchmoves: the root moves to search; empty: all.

    Raises:
        EngineError: the engine does not support a limit.
    """
    words = ["go"]
    for wanted, known, name in (
        (limits.nodes is not None, dialect.nodes, "nodes"),
        (limits.depth is not None, dialect.depth, "depth"),
        (bool(searchmoves), dialect.searchmoves, "searchmoves"),
    ):
        if wanted and not known:
            raise EngineError(f"this engine does not understand 'go {name}'")
    if limits.nodes is not None:
        words += ["nodes", str(limits.nodes)]
    if limits.depth is not None:
        words += ["depth", str(limits.depth)]
    if limits.movetime_ms is not None:
        words += ["movetime"] if dialect.movetime else ["btime", "0", "wtime", "0", "byoyomi"]
        words.append(str(max(1, limits.movetime_ms)))
    if limits.infinite:
        words.append("infinite")
    if searchmoves:
        words += ["searchmoves", *searchmoves]
    return " ".join(words)


_STDERR_LINES: Final = 5
_EVERY_ENGINE: Final = ("USI_Hash", "USI_Ponder")
"""Options that USI allows without an announcement."""
_QUIT_S: Final = 1.0


_SECRETS = frozenset(
    {"GOUGI_CSA_PASSWORD", "GOUGI_PAGE_TOKEN", "GOUGI_USI_SECRET", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"}
)
"""Environment variables that must not reach a third-party program."""


def _apart() -> dict[str, Any]:
    """Ctrl-C must not reach the engine; but on POSIX it stays in our session, so it ends with the session."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}


class UsiProcess:
    """A running engine that has sent ``usiok``.

    Args:
        command: the program and its arguments.
        start_timeout_s: how long ``usiok`` may take.
        folder: the working directory; None: ours.

    Raises:
        EngineError: the program cannot be started, dies, or sends no ``usiok`` in time.
    """

    def __init__(self, command: Sequence[str], start_timeout_s: float, folder: str | None = None) -> None:
        self.label = shlex.join(command).encode(errors="replace").decode()
        self.name = ""
        self.options: dict[str, Option] = {}
        self._errors: deque[str] = deque(maxlen=_STDERR_LINES)
        self._complaint = ""
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._write_lock = threading.Lock()
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                **_apart(),
                env={name: value for name, value in os.environ.items() if name not in _SECRETS},
            )
        except (OSError, ValueError) as error:
            raise EngineError(f"{self.label}: cannot be started: {error}") from error
        readers = ((self._process.stdout, self._read_lines), (self._process.stderr, self._read_errors))
        self._threads = [threading.Thread(target=read, args=(pipe,), daemon=True) for pipe, read in readers]
        for thread in self._threads:
            thread.start()
        try:
            self.send("usi")
            self._hear_out("usiok", start_timeout_s)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def _read_lines(self, pipe: IO[bytes]) -> None:
        with pipe:  # closed here: to close it elsewhere would wait for this thread
            for line in pipe:
                self._lines.put(line.decode("utf-8", "replace").strip())
        self._lines.put(None)

    def _read_errors(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                text = line.decode("utf-8", "replace").strip()
                if text:
                    self._errors.append(text[:300])

    def _hear_out(self, last: str, timeout_s: float) -> None:
        """Read up to the line ``last``, noting name and options."""
        deadline = time.monotonic() + timeout_s
        while (line := self.receive(deadline)) != last:
            if line is None:
                if time.monotonic() >= deadline:
                    raise EngineError(f"{self.label}: no {last} within {timeout_s:g} s{self._said()}")
            elif line.startswith("info string error"):
                # USI engines have no other way to report an error before ``readyok``.
                self._complaint = f"; {line.removeprefix('info string ')[:300]}"
            elif line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
            elif (announced := parse_option(line)) is not None:
                name, self.options[name] = announced

    def send(self, line: str) -> None:
        """Send one line.

        Raises:
            EngineError: the engine is dead.
        """
        try:
            with self._write_lock:
                assert self._process.stdin is not None
                self._process.stdin.write(f"{line}\n".encode(errors="surrogateescape"))
                self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise self.death() from error

    def receive(self, deadline: float | None) -> str | None:
        """The next line; None once ``deadline`` (of ``time.monotonic``) has passed, after `wake`, and for an empty
        line.

        Raises:
            EngineError: the engine died.
        """
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            return None
        if line is None:
            self._lines.put(None)  # the next call must see the death too
            raise self.death()
        return line or None

    def wake(self) -> None:
        """Let a waiting `receive` return."""
        self._lines.put("")

    def ready(self, timeout_s: float) -> None:
        """Send ``isready`` and wait for ``readyok``; lines before it are dropped.

        Raises:
            EngineError: the engine died, or is not ready in time.
        """
        self.send("isready")
        self._hear_out("readyok", timeout_s)

    def set_options(self, options: Mapping[str, str]) -> None:
        """Set options by their announced names, all checked before the first is sent.

        Raises:
            EngineError: the engine has no such option, or it does not allow the value.
        """
        for name, value in options.items():
            option = self.options.get(name)
            if option is None and name not in _EVERY_ENGINE:
                known = ", ".join(sorted(self.options)) or "none"
                raise EngineError(f"{self.label}: no option {name!r}; it has: {known}")
            fault = None if option is None else option.fault(name, value)
            if fault is not None:
                raise EngineError(f"{self.label}: {fault}")
        for name, value in options.items():
            option = self.options.get(name)
            button = option is not None and option.kind == "button"
            self.send(f"setoption name {name}" if button else f"setoption name {name} value {value}")

    def death(self) -> EngineError:
        """An error that says how an engine that closed its output ended, and its last words."""
        try:
            code = self._process.wait(timeout=_QUIT_S)
        except subprocess.TimeoutExpired:
            return EngineError(f"{self.label}: closed its output without ending{self._said()}")
        self._threads[1].join(_QUIT_S)
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return EngineError(f"{self.label}: {how}{self._said()}")

    def _said(self) -> str:
        return self._complaint + (f"; stderr: {' | '.join(self._errors)}" if self._errors else "")

    def quit(self) -> None:
        """Ask the engine to end, and make sure that it did. Leaves no zombie."""
        with contextlib.suppress(EngineError):
            self.send("quit")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_QUIT_S)
        self.kill()

    def kill(self) -> None:
        """End the engine and its children at once, and reap it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for thread in self._threads:
            thread.join(_QUIT_S)  # a program that left the group may hold the other end for as long as it likes
        with contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None:
                self._process.stdin.close()
