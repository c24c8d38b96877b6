"""The player under test: a whole ``gougi usi`` process, driven as by a GUI, and watched from outside."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from benchmarks.nemesis.history import History, Question
from benchmarks.nemesis.processes import MARK, log_events, marked, named, send, zombies_of
from worker.shogi import Position


class PlayerError(Exception):
    """The player did not start or did not end; the text names the missing event."""


class PlayerProcess:
    """The process of a player, from its start to its end.

    Args:
        nodes: of its fleet.
        folder: for its log, its errors and its temporary files.
        history: gets its answers.
    """

    def __init__(self, nodes: int, folder: Path, history: History) -> None:
        self.nodes = nodes
        self.mark = secrets.token_hex(8)
        self.temporary = folder / "t"
        self.temporary.mkdir(parents=True, exist_ok=True)
        self.log = folder / f"log-{self.mark}"
        self._history = history
        self._open: Question | None = None
        self._said: deque[str] = deque(maxlen=5)
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._answered = threading.Event()
        command = [sys.executable, "-m", "gougi", "usi", "--nodes", str(nodes), "--records", str(self.log)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, MARK: self.mark, "TMPDIR": str(self.temporary)},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def open(self, patience_s: float = 120) -> float:
        """Wait until it is ready to play; returns the seconds that it took.

        Raises:
            PlayerError: it did not get ready.
        """
        began = time.monotonic()
        self._say("usi", "setoption name USI_Hash value 16", "isready")
        end = began + patience_s
        while not self._ready.wait(0.1) and self._process.poll() is None and time.monotonic() < end:
            pass
        if self._process.poll() is not None:
            raise PlayerError(f"it ended with {self._process.returncode}; it said {' / '.join(self._said)}")
        if not self._ready.is_set():
            raise PlayerError(f"no readyok after {patience_s:.0f} s; it said {' / '.join(self._said)}")
        self._say("usinewgame")
        return time.monotonic() - began

    def ask(self, moves: tuple[str, ...], byoyomi_ms: int, patience_s: float = 30) -> str:
        """Let it think about the position after ``moves``; returns its move, or an empty text if it has none."""
        question = Question(moves, byoyomi_ms, time.monotonic() * 1000)
        self._history.questions.append(question)
        self._answered.clear()
        with self._lock:
            self._open = question
        self._say("position startpos moves " + " ".join(moves) if moves else "position startpos")
        question.asked_ms = time.monotonic() * 1000
        self._say(f"go btime 0 wtime 0 byoyomi {byoyomi_ms}")
        self._answered.wait(patience_s)
        return question.answers[0][1] if question.answers else ""

    def give_up(self) -> None:
        """Mark an open question as unanswerable: the player is about to be killed."""
        with self._lock:
            if self._open is not None and not self._open.answers:
                self._open.given_up = True
        self._answered.set()

    def pids(self, *words: str) -> list[int]:
        """Its processes whose command line has one of the words."""
        return named(marked(self.mark), *words)

    def node_pids(self) -> list[int]:
        """The processes that search now, by its own log."""
        last = {str(event["node"]): int(str(event["pid"])) for event in self._events("node_ready")}
        last.pop("fallback", None)
        alive = marked(self.mark)
        return [pid for pid in last.values() if pid in alive]

    def fallback_pids(self) -> list[int]:
        """The process of the master's own engine."""
        pids = [int(str(event["pid"])) for event in self._events("node_ready") if event["node"] == "fallback"]
        return [pid for pid in pids[-1:] if pid in marked(self.mark)]

    def live(self) -> int:
        """The number of nodes that it has now, by its own log."""
        there: set[object] = set()
        for event in self._events("node_joined", "node_lost"):
            if event.get("node") != "fallback":
                (there.add if event["event"] == "node_joined" else there.discard)(event.get("node"))
        return len(there)

    def zombies(self, patience_s: float = 5.0) -> int:
        """The number of its dead children that are still not reaped after some time: it reaps twice a second."""
        deadline = time.monotonic() + patience_s
        while (count := zombies_of(self._process.pid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return count

    def close(self, patience_s: float = 60) -> None:
        """End it like a GUI.

        Raises:
            PlayerError: it does not end.
        """
        self.give_up()
        self._say("quit")
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired as error:
            raise PlayerError(f"no end {patience_s:.0f} s after quit") from error

    def left_behind(self, patience_s: float) -> tuple[list[str], float]:
        """The processes and files that remain some time after its end, and the length of that time."""
        self._process.wait()
        began = time.monotonic()
        while True:
            left = [f"process {pid}: {command[:120]}" for pid, command in marked(self.mark).items()]
            left += [f"file {path}" for path in self.temporary.iterdir()]
            spent = time.monotonic() - began
            if not left or spent > patience_s:
                return left, spent
            time.sleep(0.1)

    def destroy(self) -> None:
        """Remove all its files and processes, also after an error."""
        import signal

        send(list(marked(self.mark)), signal.SIGCONT)
        send(list(marked(self.mark)), signal.SIGKILL)
        self._process.wait()
        self._reader.join(5)

    def _events(self, *names: str) -> list[dict[str, object]]:
        return [event for event in log_events(self.log) if event.get("event") in names]

    def _say(self, *lines: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("".join(line + "\n" for line in lines))
            self._process.stdin.flush()
        except OSError:
            self.give_up()  # it was killed

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            words = line.split()
            if words:
                self._said.append(line.strip())
            if words[:1] == ["readyok"]:
                self._ready.set()
            if words[:1] == ["bestmove"]:
                self._heard(words[1])

    def _heard(self, move: str) -> None:
        with self._lock:
            if self._open is None:
                self._history.stray.append(f"bestmove {move}")
                return
            self._open.answers.append((time.monotonic() * 1000, move))
        self._answered.set()


class Games(threading.Thread):
    """Requests one move after the other, and starts a new game after a number of plies, until `stop`.

    Args:
        player: the player; `hand_over` replaces it.
        byoyomi_ms: for each move.
    """

    _PLIES = 80

    def __init__(self, player: PlayerProcess, byoyomi_ms: int) -> None:
        super().__init__(daemon=True)
        self._player = player
        self._byoyomi_ms = byoyomi_ms
        self._end = threading.Event()
        self._playing = threading.Event()
        self._playing.set()
        self._resting = threading.Event()

    def run(self) -> None:
        moves: tuple[str, ...] = ()
        while not self._end.is_set():
            if not self._playing.is_set():
                self._resting.set()
                self._playing.wait(0.1)
                moves = ()
                continue
            move = self._player.ask(moves, self._byoyomi_ms)
            moves = (*moves, move)
            if not move or move in ("resign", "win") or len(moves) >= self._PLIES or _is_over(moves):
                moves = ()

    def rest(self, wait: bool = True) -> None:
        """Ask nothing more until `hand_over`."""
        self._resting.clear()
        self._playing.clear()
        if wait:
            self._resting.wait(60)

    def hand_over(self, player: PlayerProcess) -> None:
        """Continue with this player."""
        self._player = player
        self._playing.set()

    def stop(self) -> None:
        """End the last question, and the thread."""
        self._end.set()
        self.join(60)


def _is_over(moves: tuple[str, ...]) -> bool:
    position = Position.startpos()
    position.push_all(moves)
    return position.is_mated()


def watch_sleep(history: History, end: Callable[[], bool]) -> threading.Thread:
    """Start a thread that records in ``history`` how late (ms) it wakes up: a measure of the machine's load."""
    step_s = 0.005

    def watch() -> None:
        while not end():
            before = time.monotonic()
            time.sleep(step_s)
            after = time.monotonic()
            late_ms = (after - before - step_s) * 1000
            if late_ms > 1:
                history.overslept.append((after * 1000, late_ms))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread
