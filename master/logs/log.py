"""The log: JSON lines in a file, written by a thread of its own; warnings and errors also go to the console."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, MutableMapping
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import structlog

from cluster.api import Listener
from master.logs.files import LINES_LOST, LogFile
from master.player.events import GameEnded, GameEvent, GameFound
from master.ui.terminal import clean
from master.ui.texts import later, say
from worker.files import reason


class About:
    """The game that this process plays, one at a time; the log's lines carry it as ``game_id``.

    It is an observer of the player, and a structlog processor; any thread.
    """

    def __init__(self) -> None:
        self._game_id = ""

    def observe(self, event: GameEvent) -> None:
        """Take an event of the player."""
        match event:
            case GameFound(summary):
                self._game_id = summary.game_id
            case GameEnded():
                self._game_id = ""

    def __call__(self, _logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Add the known fields to a line that lacks them."""
        if self._game_id:
            event.setdefault("game_id", self._game_id)
        return event


class SearchAbout:
    """The current search of a fleet, from its events; their lines carry it as ``search_id``."""

    def __init__(self) -> None:
        self._search_id: object = None

    def fields(self, name: str, fields: dict[str, object]) -> dict[str, object]:
        """The event's fields, plus those of the search if one runs."""
        own = fields.get("search_id")
        if name in ("search_started", "pondering", "dealt"):
            self._search_id = own
        elif name in ("decided", "ponder_hit", "ponder_miss"):
            self._search_id = None
        elif own is None and self._search_id is not None:
            return {**fields, "search_id": self._search_id}
        return fields


_GRAVE: Final = frozenset(
    ("ray_lost", "ray_failed", "fork_server_lost", "node_lost", "node_failed", "node_starves", "nodes_left_out",
    "fallback_failed", "message_refused", "report_refused", "job_failed", "status_not_written", "metrics_not_served")
)  # fmt: skip
"""Fleet events for the console. The fallback, at the lowest priority, may well be silent for a while."""
_CHATTY: Final = ("asyncio", "concurrent", "filelock", "markdown_it", "numba", "ray", "urllib3", "zmq")
"""Loggers of other libraries: only their warnings and errors count."""


CLOSE_S: Final = 2.0
"""Seconds for writing the last lines."""


class LogError(Exception):
    """The log file cannot be created; the text gives the path and the reason."""


@contextlib.contextmanager
def open_log(
    folder: Path,
    *,
    file_level: str,
    console_level: str,
    console: Callable[[str], None],
    part_bytes: int = 0,
    keep: int = 0,
    about: structlog.typing.Processor | None = None,
) -> Iterator[Path]:
    """Write the log to a new file in ``folder`` (created if missing) until the end of the block.

    At the end it waits at most `CLOSE_S` for a disk that does not answer; ``console`` gets the number of lost lines.

    Args:
        part_bytes: a file that has grown to this size is set aside (`master.logs.files`); 0: never.
        keep: number of log files kept in ``folder``, over all runs; 0: all.
        about: adds the current game and search to every line (`master.logs.log.About`).
        console: gets each message as one line; called from any thread.

    Raises:
        LogError: the folder or the file cannot be created.
    """
    path = folder / f"gougi-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = LogFile(path, part_bytes, keep, _trouble)
    except OSError as error:
        raise LogError(f"no log can be written to {folder}: {reason(error)}") from error
    file.setLevel(file_level.upper())
    # A slow disk must not delay a move: the queue takes the finished line, a thread writes it.
    queue: SimpleQueue[logging.LogRecord] = SimpleQueue()
    to_file = QueueHandler(queue)
    to_file.setLevel(file_level.upper())
    shared = _SHARED if about is None else [*_SHARED, about]
    to_file.addFilter(_is_not_written)
    to_file.setFormatter(_formatter(_json_line, shared))
    to_person = _CallHandler(console)
    to_person.setLevel(console_level.upper())
    to_person.setFormatter(_formatter(_one_line, _SHARED))
    writer = _Writer(queue, file)
    root = logging.getLogger()
    before = (root.level, root.handlers[:])
    root.handlers[:] = [to_file, to_person]
    root.setLevel(min(to_file.level, to_person.level))
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    writer.start()
    try:
        yield path
    finally:
        root.setLevel(before[0])
        root.handlers[:] = before[1]
        if writer.stop_within(CLOSE_S):
            try:
                file.close()
            except OSError as error:  # a network disk may report errors only here
                console(f"error: log_not_written file={path} error={str(error)!r}")
        else:
            # A thread blocked by the disk holds the file; the process ends all the same (`__main__`).
            console(f"error: log_not_written lines={queue.qsize()} file={path} error='the disk does not answer'")


def fleet_listener(*also: Callable[[str, dict[str, object]], None]) -> Listener:
    """A listener that writes fleet events to the log, and passes them to all of ``also``."""
    log: structlog.stdlib.BoundLogger = structlog.get_logger("fleet")
    about = SearchAbout()

    def on_event(name: str, fields: dict[str, object]) -> None:
        tell = log.error if name == "fleet_broken" else log.warning if name in _GRAVE else log.info
        tell(name, **about.fields(name, fields))
        for hear in also:
            hear(name, fields)

    return Listener(on_event=on_event)


_SHARED: Final[list[structlog.typing.Processor]] = [
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,
]


def _formatter(
    renderer: structlog.typing.Processor, shared: list[structlog.typing.Processor]
) -> structlog.stdlib.ProcessorFormatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )


_AS_JSON: Final = structlog.processors.JSONRenderer(ensure_ascii=False)


def _json_line(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
    """JSON with all control characters escaped, even those that JSON allows, because a terminal obeys them too."""
    return clean(str(_AS_JSON(logger, method, event)))


_ONCE: Final = {
    "node_starves": later("{node} plays weaker: it has {percent} % of its processor, other programs the rest")
}
"""Text for the console, which shows it once; the log has each occurrence."""
_UNSAID: Final = frozenset({"logger", "level", "timestamp", "exception", "game_id", "search_id"})
"""In the file alone: the console already shows which game is played."""


def _one_line(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    """``node_lost node=node-1 reason="its process died"``; a traceback stays in the file."""
    if (once := _ONCE.get(event["event"])) is not None:
        return say(once, **event)
    fields = {key: value for key, value in event.items() if key not in _UNSAID}
    name = fields.pop("event")
    words = [f"{key}={_word(value)}" for key, value in fields.items()]
    return " ".join([f"{event['level']}: {name}", *words])


def _word(value: object) -> str:
    """A value that stays one word of one line."""
    text = str(value)
    return text if " " not in text and text.isprintable() else repr(value)


def _trouble(event: str, fields: dict[str, object]) -> None:
    """The log's own errors are reported like all others; also in the file, if it can be written."""
    structlog.get_logger("log").error(event, **fields)


def _is_not_written(record: logging.LogRecord) -> bool:
    """Whether the file still needs a record: it writes `LINES_LOST` itself, in its place."""
    return not (isinstance(record.msg, dict) and record.msg.get("event") == LINES_LOST)


class _Writer(QueueListener):
    def handle(self, record: logging.LogRecord) -> None:
        """An error would end the thread, and with it the log. `LogFile` has already reported it if possible."""
        with contextlib.suppress(Exception):
            super().handle(record)

    def stop_within(self, seconds: float) -> bool:
        """As `stop`, but with a time limit. Returns whether all is written."""
        thread = self._thread
        if thread is None:
            return True
        self.enqueue_sentinel()
        thread.join(seconds)
        return not thread.is_alive()


class _CallHandler(logging.Handler):
    def __init__(self, call: Callable[[str], None]) -> None:
        super().__init__()
        self._call = call
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        event = record.msg.get("event") if isinstance(record.msg, dict) else None
        if event in _ONCE:
            if event in self._said:
                return
            self._said.add(event)
        try:
            self._call(self.format(record))
        except Exception:
            self.handleError(record)
