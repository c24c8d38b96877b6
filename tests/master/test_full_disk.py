"""A disk that is full, on every output of every command: one line that names it, one exit code, no traceback."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from master.book.importing import CandidateRules, Part, Tally
from master.commands.common import DISK_FULL
from tests.master.analysis.records import CSA
from tests.master.book.games import record
from tests.master.command import GOUGI, ROOT, environment, gougi
from worker.book import BookError
from worker.files import disk_is_full
from worker.jit import cache, jit

NO_ROOM = "no space left on the disk"
IMPORT = "book import --from games --min-plies 1 --min-games 1 --jobs 1"
LOG = (
    '{"event": "player_begins", "game": 1, "name": "anna", "server": "x:1", "settings": {}}\n'
    '{"event": "input", "game": 1, "at_ms": 1.0, "kind": "ServerLine", "line": "Game_ID:a", "sent": []}\n'
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a record, books and a log."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "games").mkdir()
    for number in range(2):
        (folder / "games" / f"{number}.csa").write_text(record())
    (folder / "game.csa").write_text(CSA)
    (folder / "log.jsonl").write_text(LOG)
    for out in ("book.db", "learned.sqlite"):
        assert gougi(*f"{IMPORT} --out {out}".split(), cwd=folder).returncode == 0
    return folder


def told(result: subprocess.CompletedProcess[str], what: str = "") -> None:
    """The error is one line that names the unwritten file."""
    assert "Traceback" not in result.stderr and "Exception ignored" not in result.stderr, result.stderr
    assert result.returncode == DISK_FULL, result.stderr
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("gougi: ")]
    assert NO_ROOM in line, line
    assert what in line, line


def onto_full_device(words: str, cwd: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    with open("/dev/full", "w") as full:
        return gougi(*words.split(), cwd=cwd, text=text, stdout=full)


@pytest.mark.parametrize(
    "words",
    [
        "config --sample",
        "usi --single",
        "status --json",
        "replay --check log.jsonl",
        "book show --book book.db",
        "--help",
    ],
)
def test_standard_output(words: str, made: Path) -> None:
    told(onto_full_device(words, made, "usi\nquit\n"), "output: ")


def test_standard_output_without_a_buffer(made: Path) -> None:
    with open("/dev/full", "w") as full:
        env = {**environment(made), "PYTHONUNBUFFERED": "1"}
        result = subprocess.run(
            [*GOUGI, "perft", "1"], cwd=made, env=env, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    told(result, "output: ")


def test_a_full_standard_error_leaves_the_exit_code(made: Path) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*GOUGI, "perft", "x"], cwd=made, env=environment(made), stdout=full, stderr=full, check=False
        )
    assert result.returncode == 2


def test_a_server_goes_on_and_says_so_in_the_end(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        server = subprocess.Popen(
            [*GOUGI, "serve", "--port", "0", "--records", "records"],
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
    try:
        deadline = time.monotonic() + 60
        while not any("listening" in log.read_text() for log in (tmp_path / "records").glob("*.jsonl")):
            assert server.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        assert server.poll() is None
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=60)
    finally:
        server.kill()
    told(subprocess.CompletedProcess([], server.returncode, "", errors), "output: ")


# A file system that is full


def without_mounts() -> str:
    tried = subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True, check=False
    )
    return tried.stderr.strip() if tried.returncode else ""


def in_full_folder(
    words: str, cwd: Path, program: tuple[str, ...] = GOUGI, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command with the folder ``full`` as a file system without free space."""
    (cwd / "full").mkdir(exist_ok=True)
    gougi_command = shlex.join([*program, *words.split()])
    script = (
        f"mount -t tmpfs -o size=256k,mode=700 none full && "
        f"{{ dd if=/dev/zero of=full/filler bs=4k 2>/dev/null; {gougi_command}; }}; code=$?; "
        # The mount is seen in here alone.
        f"rm -f full/filler; find full -type f ! -name '*.jsonl' ! -name '*.lock' >left; exit $code"
    )
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        cwd=cwd,
        env=environment(cwd, env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


needs_mounts = pytest.mark.skipif(bool(without_mounts()), reason=f"no mounts: {without_mounts()}")


@needs_mounts
@pytest.mark.parametrize(
    ("words", "names"),
    [
        (f"{IMPORT} --out full/new.db", "full/new.db"),
        ("analyze game.csa --single --nodes-per-move 100 --out full", "--out: full"),
        ("serve --port 0 --records full", "--records: full"),
    ],
)
def test_an_output_folder(words: str, names: str, made: Path) -> None:
    told(in_full_folder(words, made), names)
    assert (made / "left").read_text() == ""


def test_the_file_in_which_games_are_counted_is_named() -> None:
    part = Part(1, counted={(f"position {number}", "7g7f"): [1, 1, 1.0, 0, 0] for number in range(10_000)})
    with Tally(CandidateRules()) as tally:
        tally._connection.execute("PRAGMA max_page_count = 10")
        with pytest.raises(BookError, match=r"tally\.sqlite: database or disk is full") as error:
            tally.add(part)
    assert disk_is_full(error.value)


@needs_mounts
def test_the_folder_of_compiled_code(tmp_path: Path) -> None:
    """With one small function to compile: the path is the same for all."""
    program = (sys.executable, "-m", "tests.master.tiny_warm")
    result = in_full_folder("warm", tmp_path, program, GOUGI_CACHE_DIR=str(tmp_path / "full"))
    *_, last = result.stderr.splitlines()
    assert result.returncode == DISK_FULL, result.stderr
    assert re.fullmatch(rf"gougi: {tmp_path}/full/jit-\w+: {NO_ROOM}", last), result.stderr
    assert "Traceback" not in result.stderr


def test_a_folder_of_compiled_code_that_refuses_a_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache, "_CACHE_DIR", tmp_path / "file")
    with pytest.raises(OSError, match="Not a directory") as error:
        jit()(test_a_folder_of_compiled_code_that_refuses_a_part_of_it)
    assert str(error.value.filename).startswith(str(tmp_path / "file"))


@needs_mounts
def test_nowhere_to_keep_compiled_code(tmp_path: Path) -> None:
    """The error gives the fault of the requested folder."""
    if ROOT.is_relative_to("/tmp") or ROOT.is_relative_to("/var/tmp"):
        pytest.skip("the repository itself would be covered")
    mounts = "".join(f"mount -t tmpfs -o ro none {folder} && " for folder in ("/tmp", "/var/tmp"))
    script = f"{mounts} cd /proc && {shlex.join([*GOUGI, 'perft', '1'])}"
    env = {**environment(tmp_path), "GOUGI_CACHE_DIR": "/var/tmp/cache", "TMPDIR": ""}
    command = ["unshare", "-rm", "sh", "-c", script]
    result = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    *_, last = result.stderr.splitlines()
    asked_for = r"/var/tmp/cache/jit-\w+: read-only file system"
    assert re.match(f"gougi: compiled code can be kept nowhere: {asked_for}; nor in ", last)
    assert result.returncode == 1 and "Traceback" not in result.stderr
