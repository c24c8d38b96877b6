"""Terraform (or OpenTofu) as a child process: finding it, running it, and converting its progress and errors.

``plan`` and ``apply`` run with ``-json``: one JSON object per line (terraform's manual, "Machine-Readable UI").
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from master.cloud.aws import advice

PROGRAMS: Final = ("terraform", "tofu")
_MOST_DIAGNOSTICS: Final = 3
_LOOK_S: Final = 0.05
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


class TerraformError(Exception):
    """Terraform is missing or failed; the text has a line per error, with advice if it is known."""


class TerraformKilled(TerraformError):
    """It was killed from outside, and could not record its last actions."""


@dataclass(frozen=True, slots=True)
class Step:
    """The state of work on a resource: ``begins``, ``goes on``, ``done`` or ``failed``; ``seconds`` so far."""

    address: str
    action: str
    what: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    severity: str
    summary: str
    detail: str = ""
    address: str = ""


def find(named: str = "") -> str:
    """The program to run.

    Args:
        named: the program in the configuration; empty: the first of `PROGRAMS` on the PATH.

    Raises:
        TerraformError: it was not found.
    """
    for program in (named,) if named else PROGRAMS:
        found = shutil.which(program)
        if found:
            return found
    if named:
        raise TerraformError(f"[fleet] terraform: there is no program {named!r}")
    raise TerraformError(
        "neither terraform nor tofu is on the PATH: install one "
        "(https://developer.hashicorp.com/terraform/install, https://opentofu.org/docs/intro/install)"
    )


def parse_line(line: str) -> Step | Diagnostic | None:
    """Parse a line of ``-json`` output; None: nothing useful."""
    try:
        said = json.loads(line)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    if said.get("type") == "diagnostic":
        raw = said.get("diagnostic") or {}
        texts = [str(raw.get(key) or "") for key in ("severity", "summary", "detail", "address")]
        return Diagnostic(*texts)
    what = _STEPS.get(said.get("type", ""))
    hook = said.get("hook")
    if what is None or not isinstance(hook, dict):
        return None
    address = str((hook.get("resource") or {}).get("addr", ""))
    return Step(address, str(hook.get("action", "")), what, int(hook.get("elapsed_seconds", 0)))


_STEPS: Final = {
    "apply_start": "begins",
    "apply_progress": "goes on",
    "apply_complete": "done",
    "apply_errored": "failed",
}


def explain(errors: Sequence[Diagnostic], last_lines: str) -> str:
    """Terraform's errors for the user: one line each, beginning with advice if it is known."""
    if not errors:
        text = " ".join(_COLOUR.sub("", last_lines).replace("│", " ").split())[-500:]
        errors = [Diagnostic("error", text or "without a word")]
    lines = []
    for error in errors[:_MOST_DIAGNOSTICS]:
        text = " ".join(f"{error.summary} {error.detail}".split())
        where, todo = f"{error.address}: " if error.address else "", advice(text)
        lines.append(f"{where}{todo} ({text[:500]})" if todo else f"{where}{text[:500]}")
    if len(errors) > _MOST_DIAGNOSTICS:
        lines.append(f"and {len(errors) - _MOST_DIAGNOSTICS} errors more")
    return "\n".join(dict.fromkeys(lines))


class Terraform:
    """A folder with a root module.

    Args:
        program: as returned by `find`.
        folder: of the root module; plans are there, and the state, unless the module names another place.
        environment: variables that override this process's environment.
        lock: returns a file descriptor that the process inherits, so that a lock on it lasts as long as it runs.
    """

    def __init__(
        self,
        program: str,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        lock: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._program = program
        self._lock = lock
        self.folder = folder
        self._environment = {
            **os.environ,
            "TF_IN_AUTOMATION": "1",
            "TF_INPUT": "0",
            "CHECKPOINT_DISABLE": "1",
            **(environment or {}),
        }

    def init(self) -> None:
        """Install the provider and the modules. Raises TerraformError, as the methods below do."""
        self._run(["init", "-input=false", "-no-color", "-reconfigure"])

    def plan(self, file: str, variables: Mapping[str, int], *, destroy: bool = False) -> Any:
        """Compute the changes and store the plan in ``file``. Returns it in the form of ``terraform show -json``.

        Args:
            variables: of the root module; they override the folder's files.
        """
        given = [f"-var={name}={value}" for name, value in variables.items()]
        self._run(["plan", "-input=false", "-json", f"-out={file}", *given, *(["-destroy"] if destroy else [])])
        (self.folder / file).chmod(0o600)
        return json.loads(self._run(["show", "-json", file]))

    def apply(self, file: str, tell: Callable[[Step], None] = lambda _step: None) -> None:
        """Apply the plan in ``file``. The file is removed: a plan can be used only once."""
        try:
            self._run(["apply", "-input=false", "-json", file], tell)
        finally:
            (self.folder / file).unlink(missing_ok=True)

    def _run(self, arguments: list[str], tell: Callable[[Step], None] = lambda _step: None) -> str:
        """Run terraform in the folder. Returns its standard output.

        This waits for its end even if the callback fails: resources that it creates and does not record would cost
        money, and no command would find them. If this process is killed, terraform continues, because it writes to a
        file and not to a pipe. Ctrl-C is passed on once, and terraform then ends in order; at a second signal it would
        end without its state.
        """
        errors: list[Diagnostic] = []
        unheard: BaseException | None = None
        interrupted = False
        lock = self._lock()
        with (
            tempfile.TemporaryFile("w+", errors="replace") as output,
            tempfile.TemporaryFile("w+", errors="replace") as complaints,
        ):
            try:
                process = subprocess.Popen(
                    [self._program, *arguments],
                    cwd=self.folder,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=complaints,
                    pass_fds=() if lock is None else (lock,),
                    # A terminal would send it Ctrl-C too, and a hangup. And a program that asks a question at the
                    # terminal, for example one that `terraform init` started, would stop for ever in the background;
                    # without a terminal it fails.
                    start_new_session=True,
                )
            except OSError as error:
                raise TerraformError(f"{self._program}: {error.strerror or error}") from error
            lines = _Lines(output.fileno(), process)
            while True:
                try:
                    for line in lines:
                        said = parse_line(line) if "-json" in arguments else None
                        if isinstance(said, Step) and unheard is None:
                            try:
                                tell(said)
                            except (Exception, SystemExit) as error:
                                unheard = error  # our output has no reader any more
                        elif isinstance(said, Diagnostic) and said.severity == "error":
                            errors.append(said)
                    break
                except KeyboardInterrupt:
                    if not interrupted:
                        process.send_signal(signal.SIGINT)
                    interrupted = True
            code = process.wait()
            if unheard is not None:
                raise unheard
            if interrupted:
                raise KeyboardInterrupt
            output.seek(0)
            complaints.seek(0)
            text = output.read()
            if code:
                kind = TerraformKilled if code < 0 else TerraformError
                raise kind(f"terraform {arguments[0]}: {explain(errors, complaints.read() or text)}")
        return text


class _Lines:
    """The lines that a process writes to a file, until its end. After an interrupt, the iteration resumes."""

    def __init__(self, file: int, process: subprocess.Popen[bytes]) -> None:
        self._file = file
        self._process = process
        self._at = 0

    def __iter__(self) -> Iterator[str]:
        while True:
            over = self._process.poll() is not None  # before the last read
            data = os.pread(self._file, 1 << 20, self._at)
            whole = data if over else data[: data.rfind(b"\n") + 1]
            for line in whole.splitlines(keepends=True):
                self._at += len(line)
                yield line.decode(errors="replace")
            if over and not whole:
                return
            if not whole:
                time.sleep(_LOOK_S)
