"""The folder of a long run (games of a match, of teachers, of the lab): one process at a time, the same settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from worker.files import replace_file
from worker.locks import lock


class RunFolder:
    """A folder for one command's runs. Each kind names its command and the error raised for folders of other kinds."""

    command: ClassVar[str]
    """The command that uses it, as its user knows it: ``gougi match``."""
    refused: ClassVar[type[Exception]]

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def held(self) -> Iterator[None]:
        """Create the folder, and lock it against other processes until the end of the ``with``, or of this process.

        Raises:
            refused: another process uses it.
            OSError: it cannot be created.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".lock").open("w") as file:
            try:
                lock(file, wait=False)
            except BlockingIOError:
                raise self.refused(f"{self.path}: another {self.command} is at work there") from None
            yield

    def keep_facts(self, file: Path, facts: Mapping[str, Any]) -> None:
        """Write plain values; they are completely on disk when this returns. Raises OSError."""
        text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
        # A file's name that is not UTF-8 gets JSON's own escapes, which have the same form.
        replace_file(file, text.encode(errors="backslashreplace"), to_disk=True)

    def known_facts(self, file: Path) -> dict[str, Any]:
        """Read the output of `keep_facts`.

        Raises:
            refused: it is something else.
            OSError: it cannot be read.
        """
        try:
            return dict(json.loads(file.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise self.refused(f"{file}: not readable: {error!r}") from error

    def check_settings(self, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        """Raises ``refused``, which names the differences, if a folder was begun with settings other than those wanted.

        Keys that only the folder has are not a difference, except within a setting that is itself a mapping.
        """
        changed = "; ".join(_differences(before, wanted, wanted))
        if changed:
            raise self.refused(
                f"{self.path} was begun with other settings ({changed}): repeat them to go on with it, or choose "
                "another folder"
            )

    def claim_settings(self, file: Path, wanted: Mapping[str, Any]) -> None:
        """Store the settings if there are none yet; otherwise as `check_settings`.

        Raises:
            refused: it was begun with others, or they cannot be read.
            OSError: they cannot be read or written.
        """
        if file.exists():
            self.check_settings(self.known_facts(file), wanted)
        else:
            self.keep_facts(file, wanted)


def _differences(
    before: Mapping[str, Any], wanted: Mapping[str, Any], keys: Iterable[str], within: str = ""
) -> Iterator[str]:
    for key in keys:
        old, new = before.get(key), wanted.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differences(old, new, {**old, **new}, f"{within}{key}.")
        elif old != new:
            yield f"{within}{key} was {old!r} and is {new!r}"
