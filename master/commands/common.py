"""Shared by the commands: errors and words for the user, work that Ctrl-C ends at once, the compile step."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from master.ui.terminal import clean
from worker.files import described, disk_is_full
from worker.text import ERRORS, register

if TYPE_CHECKING:
    import typer

T = TypeVar("T")
WarmUp = Callable[[Callable[[str, int, int], None]], object]
"""Compiles, and calls its argument with each stage: its name, its number from 0, and the number of stages."""

BAD_INPUT = 2
"""Exit code if the user has to change something: an argument, the configuration, a file, a port."""
FAILED = 1
"""Exit code if the command started but failed."""
DISK_FULL = 74
"""Exit code if the disk, or a quota, has no space for a file (sysexits' EX_IOERR)."""
INTERRUPTED = 130
"""Exit code after Ctrl-C or SIGTERM, as shells use it."""


class CommandError(Exception):
    """Ends a command with one clear message on stderr and an exit code."""

    def __init__(self, message: str, code: int = BAD_INPUT) -> None:
        super().__init__(message)
        self.code = code


class EndsOn:
    """A block in which errors of some kinds end the command, with their text as its message.

    Args:
        kinds: of errors.
        where: a prefix of the message, such as the option at fault.
        code: exit code.
    """

    def __init__(self, *kinds: type[Exception], where: object = "", code: int = BAD_INPUT) -> None:
        self._kinds = kinds
        self._where = f"{where}: " if where else ""
        self._code = code

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _at: object) -> None:
        if isinstance(error, self._kinds):
            raise CommandError(self._where + described(error), self._code) from error


def ended(work: Callable[[], object]) -> int:
    """Run a command to its end. Returns its exit code; errors are printed on stderr, never as a traceback."""
    register()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character that the terminal lacks becomes ASCII
            stream.reconfigure(errors=ERRORS)
    try:
        code = work()
        sys.stdout.flush()
    except CommandError as error:
        _complain(str(error))
        return DISK_FULL if disk_is_full(error) else error.code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output (`| head`) has enough. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        full = disk_is_full(error)
        _complain(f"output: {described(error)}" if full and error.filename is None else described(error))
        return DISK_FULL if full else FAILED
    return code if isinstance(code, int) else 0


def _complain(message: str) -> None:
    from master.ui.texts import error_words

    with contextlib.suppress(OSError):  # then only the exit code reports it
        for line in message.splitlines() or ["failed"]:
            print(clean(f"gougi: {error_words(line, sys.stderr.encoding)}"), file=sys.stderr, flush=True)


def tell(line: str) -> None:
    """Write a line about the work to stderr, at once."""
    print(clean(line), file=sys.stderr, flush=True)


def notice(text: str) -> None:
    """Write a warning to stderr, at once; nothing if the text is empty."""
    if text:
        tell(f"gougi: {text}")


def given(context: typer.Context, names: Collection[str]) -> list[str]:
    """The options of these parameters that stand on the command line, as they are written there."""
    found = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not None and source.name == "COMMANDLINE":
            found.append(parameter.opts[0])
    return found


def exit_code(whole: bool, folder: Path) -> int:
    """The exit code of a run in a folder. After an interruption, print how to resume."""
    if whole:
        return 0
    tell(f"interrupted: the same command goes on with {folder}")
    return INTERRUPTED


class Stoppable:
    """A block that Ctrl-C or SIGTERM ends without an error: the code after it still runs.

    ::

        with Stoppable() as block:
            ...
        return block.finished
    """

    finished = False
    """Whether the block ran to its end."""

    def __enter__(self) -> Stoppable:
        self._before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        signal.signal(signal.SIGTERM, self._before)
        self.finished = kind is None
        return kind is not None and issubclass(kind, KeyboardInterrupt)


def interruptible(work: Callable[[], T]) -> T:
    """Run ``work``, which may stay in compiled code for long, and end the process at once on Ctrl-C or SIGTERM.

    Python delivers a signal to the main thread between two of its instructions, so the work gets a thread of its own.
    It cannot be stopped from outside. The process exits without the interpreter's clean-up, which would wait for the
    work.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="command", daemon=True)
    thread.start()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while thread.is_alive():
            thread.join(0.2)
    except KeyboardInterrupt:
        from master.ui.console import Console

        sys.stdout.flush()
        Console(stderr=True).show_cursor()  # a bar has hidden it
        print("\ninterrupted", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGTERM, before)
    if errors:
        raise errors[0]
    return results[0]


def _searcher() -> WarmUp:
    from worker.warm import warm_up

    return warm_up


def compile_searcher(find: Callable[[], WarmUp] = _searcher) -> None:
    """Compile everything that is not in the cache yet, with progress on stderr. Print nothing if the cache is complete.
    ``find``: imports the function that compiles, which takes most of a second."""

    def work() -> None:
        warm_up = find()
        if sys.stderr.isatty():
            _with_bar(warm_up)
        else:
            warm_up(_line)

    interruptible(work)


def _line(stage: str, number: int, total: int) -> None:
    tell(f"compiling the searcher {number}/{total}: {stage}")


def _with_bar(warm_up: WarmUp) -> None:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from master.ui.console import Console

    columns = (
        TextColumn("compiling the searcher (once)"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} {task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)

        def report(stage: str, number: int, total: int) -> None:
            bar.update(task, description=stage, completed=number, total=total, visible=True)

        warm_up(report)
