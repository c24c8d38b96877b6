"""The ``gougi`` command: answers, errors in one line, exit codes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from typer.main import get_command

from benchmarks.random_networks import random_network
from master.cli import app, run
from tests.master.command import ROOT, Running, environment, gougi
from worker.nnue.architecture import Architecture
from worker.nnue.features import K_P
from worker.nnue.format import serialise_network
from worker.nnue.network import default_file

STARTPOS = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"


Here = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Runs ``gougi WORDS`` in this process, in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    for name in {**os.environ, **environment(tmp_path)}:
        if name.startswith(("GOUGI_", "XDG_CONFIG")) and name != "GOUGI_CACHE_DIR":
            monkeypatch.delenv(name, raising=False)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)

    def runs(*words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        for name, value in (env or {}).items():
            monkeypatch.setenv(name, value)
        code = run(words)
        return subprocess.CompletedProcess(words, code, *capsys.readouterr())

    return runs


def error_of(result: subprocess.CompletedProcess[str], code: int = 2) -> str:
    """The one line of an error."""
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith("compiling")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("gougi: ")
    return lines[0].removeprefix("gougi: ")


# Help


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    look = "print(sorted({'ray', 'numba', 'numpy'} & set(sys.modules)))"
    command = [sys.executable, "-c", f"import sys, master.config; from master.cli import run; run(['--help']); {look}"]
    result = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def leaves(group: Any, *before: str) -> Iterator[tuple[str, ...]]:
    """The words of all commands, groups and their commands included."""
    for name, made in group.commands.items():
        yield (*before, name)
        if hasattr(made, "commands"):
            yield from leaves(made, *before, name)


@pytest.mark.parametrize("words", list(leaves(get_command(app))), ids=" ".join)
def test_the_help_of_a_command_begins_with_an_example(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is cut, or wider than a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*words, "--help"]) == 0
    usage, _, title, _, example, *rest = capsys.readouterr().out.splitlines()
    assert not [line for line in rest if cell_len(line) > 80 or line.endswith("...")]
    assert usage.startswith(f"Usage: gougi {' '.join(words)}")
    assert title == "  Examples:"
    assert f"gougi {' '.join(words)}" in example
    assert not any("Examples:" in line for line in rest)


# perft


def test_perft(here: Here) -> None:
    assert here("perft", "3").stdout == "25470\n"
    assert here("perft", "0").stdout == "1\n"
    most_moves = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"
    assert here("perft", "1", "--sfen", most_moves).stdout == "593\n"


@pytest.mark.parametrize(
    ("sfen", "says"),
    [("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNLL b - 1", "rank 9"), ("nonsense", "nonsense")],
)
def test_a_bad_sfen(here: Here, sfen: str, says: str) -> None:
    message = error_of(here("perft", "1", "--sfen", sfen))
    assert message.startswith("--sfen: ")
    assert says in message
    assert error_of(here("eval", "--sfen", sfen)) == message


# eval


def test_eval(here: Here) -> None:
    result = here("eval")
    sfen, raw, centipawns = result.stdout.rstrip("\n").split("\t")
    assert sfen == STARTPOS
    assert int(centipawns) == int(int(raw) / 16)
    assert abs(int(centipawns)) < 200


def test_eval_names_the_bad_line(here: Here, tmp_path: Path) -> None:
    (tmp_path / "positions.txt").write_text(f"{STARTPOS}\nbad\n")
    result = here("eval", "--file", "positions.txt")
    assert error_of(result).startswith("positions.txt, line 2: ")
    assert "no such file" in error_of(here("eval", "--file", "missing.txt"))


def test_eval_with_a_broken_net(here: Here, tmp_path: Path) -> None:
    net = default_file().read_bytes()
    (tmp_path / "cut.bin").write_bytes(net[:-100])
    assert "no architecture that Gougi knows" in error_of(here("eval", "--net", "cut.bin"))
    assert "no such file" in error_of(here("eval", "--net", "missing.bin"))
    assert "--net: " in error_of(here("bench", "--net", "cut.bin", "--depth", "1"))
    (tmp_path / "whole.bin").write_bytes(net)
    assert here("eval", "--net", "whole.bin").stdout == here("eval").stdout
    scaled = here("eval", "--net", "whole.bin", "--fv-scale", "1").stdout.split("\t")
    assert scaled[1] == scaled[2].strip()


def test_a_net_whose_header_lies(here: Here, tmp_path: Path) -> None:
    """The size gives the shape; a folder stands for its net; the error about a wrong name lists the possible ones."""
    shape = Architecture(K_P, 256, 8, 64)
    data = serialise_network(random_network(shape))
    truth, lie = str(shape).encode(), b"Features=HalfKP(Friend)[125388->256x2],Network=what a trainer writes"
    head = data[:8] + len(lie).to_bytes(4, "little") + lie
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "nn.bin").write_bytes(head + data[12 + len(truth) :])
    (tmp_path / "true.bin").write_bytes(data)
    lying = here("eval", "--net", "eval")
    assert lying.returncode == 0 and lying.stdout == here("eval", "--net", "true.bin").stdout
    facts = json.loads(here("net", "info", "eval/nn.bin", "--json").stdout)
    assert (facts["name"], facts["header"]) == ("kp_256x2-8-64", lie.decode())
    wrong = error_of(here("eval", "--net", "eval", "--architecture", "kp_256x2-32-32"))
    assert "kp_256x2-32-32 does not fit its" in wrong


# bench


def test_bench(here: Here) -> None:
    found = json.loads(here("bench", "--json", "--depth", "5").stdout)
    assert found["nodes"] == sum(found["nodes_by_position"])
    assert found["nps"] > 0 and found["signature"]


# usi


def test_usi_tells_its_options_before_there_is_a_fleet(tmp_path: Path) -> None:
    result = gougi("usi", "--nodes", "3", cwd=tmp_path, text="usi\nquit\n")
    assert result.returncode == 0
    assert "option name Nodes type spin default 3 min 1 max 1024" in result.stdout.splitlines()
    assert "option name Threads type spin default 0 min 0 max 512" in result.stdout.splitlines()
    assert "option name Nodes " not in gougi("usi", "--address", "10.0.0.1:6379", cwd=tmp_path, text="usi\n").stdout


def test_usi_single(tmp_path: Path) -> None:
    text = "usi\nisready\nposition startpos moves 7g7f\ngo depth 3\nquit\n"
    lines = gougi("usi", "--single", cwd=tmp_path, text=text).stdout.splitlines()
    assert "usiok" in lines
    assert "readyok" in lines
    assert lines[-1].startswith("bestmove ")


@pytest.mark.parametrize("words", [["usi", "--single"], ["usi"]])
def test_usiok_waits_for_nothing_that_is_compiled(tmp_path: Path, words: list[str]) -> None:
    """Even if numba never finishes loading."""
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "numba.py").write_text("import time\ntime.sleep(1000)\n")
    env = {"PYTHONPATH": f"{tmp_path / 'slow'}:{ROOT}"}
    running = Running(words, tmp_path, env, stdin=subprocess.PIPE)
    assert running.process.stdin is not None
    try:
        running.process.stdin.write("usi\n")
        running.process.stdin.flush()
        running.wait_for("usiok", 60)
        assert running.lines[0].startswith("id name Gougi")
    finally:
        running.kill()


@pytest.mark.parametrize("words", [["usi", "--single"], ["usi"]])
def test_usi_without_its_network_ends(tmp_path: Path, words: list[str]) -> None:
    running = Running(words, tmp_path, stdin=subprocess.PIPE)
    assert running.process.stdin is not None
    try:
        running.process.stdin.write("setoption name EvalFile value /no/such/nn.bin\nisready\n")
        running.process.stdin.flush()
        assert running.end() == 1
    finally:
        running.kill()
    for_the_gui, for_the_user = (line for line in running.lines if "/no/such/nn.bin" in line)
    assert for_the_gui.startswith("info string error: ")
    assert for_the_gui.endswith("/no/such/nn.bin: no such file")
    assert for_the_user == f"gougi: {for_the_gui.removeprefix('info string error: ')}"
    assert "readyok" not in running.output


# config


def test_config(here: Here, tmp_path: Path) -> None:
    env = {"GOUGI_ENGINE_THREADS": "3", "GOUGI_CSA_PASSWORD": "hush"}
    (tmp_path / "gougi.toml").write_text("[engine]\nthreads = 2\nhash_mb = 64\n[cluster]\nnodes = 7\n")
    shown = here("config", env=env).stdout
    assert "\nthreads = 3  # environment, GOUGI_ENGINE_THREADS\n" in shown
    assert "\nhash_mb = 64  # gougi.toml\n" in shown
    assert '\nmode = "consult"  # default\n' in shown
    assert tomllib.loads(shown)["engine"]["threads"] == 3, "it is a configuration file"
    changed = here("config", "--changed", env=env).stdout
    assert sorted(changed.splitlines()) == [
        "[cluster] nodes = 7  # gougi.toml",
        "[cluster] oversubscribe = true  # environment, GOUGI_CLUSTER_OVERSUBSCRIBE",
        "[csa] password  # environment, GOUGI_CSA_PASSWORD",
        "[engine] hash_mb = 64  # gougi.toml",
        "[engine] threads = 3  # environment, GOUGI_ENGINE_THREADS",
        '[page] listen = "off"  # environment, GOUGI_PAGE_LISTEN',
    ]
    assert "hush" not in shown + changed
    (tmp_path / "gougi.toml").write_text("[engine]\nthreds = 1\n")
    assert error_of(here("config")).startswith("gougi.toml: [engine] threds: no such key")


def test_a_host_that_does_not_resolve_is_told_before_anything_begins(here: Here, tmp_path: Path) -> None:
    words = ("play", "--server", "no.such.host.invalid:4081", "--game", "test-60-5F")
    done = here(*words, env={"GOUGI_CSA_PASSWORD": "hush"})
    assert done.returncode == 1
    assert done.stderr.startswith("gougi: --server: no address is known for the host 'no.such.host.invalid': ")
    assert list(tmp_path.iterdir()) == []


# serve, and play on it


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[tuple[Running, str]]:
    """A practice server on a free port, and its address."""
    server = Running(["serve", "--port", "0", *words], folder)
    try:
        yield server, server.wait_for("listening on").split()[2].rstrip(";")
    finally:
        server.kill()


def test_serve_stops_in_good_order(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _):
        server.press_ctrl_c()
        assert server.end() == 0
        assert "stopped" in server.lines
        assert "Traceback" not in server.output
        assert not server.left_behind()


def test_a_port_in_use(here: Here) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} on 127.0.0.1 is in use" in error_of(here("serve", "--port", str(port)))


def test_records_that_cannot_be_written(here: Here, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    error = error_of(here("serve", "--records", "file/records"))
    assert error == "--records: file/records: a file, but a folder was expected"


def test_play_without_a_password(here: Here) -> None:
    message = error_of(here("play", "--server", "127.0.0.1:4081", "--game", "test-60-5F"))
    assert "GOUGI_CSA_PASSWORD" in message


@pytest.mark.parametrize(
    ("game", "password", "says"),
    [
        ("floodgate300-10F", "hush", "did you mean floodgate-300-10F?"),
        ("test-60-5F", "hush hush", "the password cannot be sent: its character 5 is a space"),
    ],
)
def test_play_with_a_login_that_brings_no_game(here: Here, tmp_path: Path, game: str, password: str, says: str) -> None:
    """Nothing is started for it, nor even a log."""
    words = ("play", "--server", "127.0.0.1:4081", *(("--game", game) if game else ()))
    message = error_of(here(*words, env={"GOUGI_CSA_PASSWORD": password}))
    assert says in message
    assert "hush" not in message
    assert list(tmp_path.iterdir()) == []


def test_a_password_that_others_can_read(here: Here, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush\n")
    (tmp_path / "secret").chmod(0o640)
    words = ("play", "--server", "127.0.0.1:4081", "--password-file", "secret")
    message = error_of(here(*words))
    assert "mode 640" in message
    assert "hush" not in message


def play_on(folder: Path, server: str, *words: str) -> Running:
    return Running(
        ["play", "--server", server, "--game", "test-1-1F", "--hash", "16", "--nodes", "1", *words],
        folder,
        {"GOUGI_CSA_PASSWORD": "hush"},
    )


@pytest.mark.slow
def test_a_wrong_password_and_a_server_that_closes(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answers = [b"LOGIN:incorrect\n", b""]

        def serve_two() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(answer)
                    time.sleep(0.2)

        threading.Thread(target=serve_two, daemon=True).start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        refused = play_on(tmp_path, address)
        try:
            assert refused.end(60) == 2, refused.output
            assert f"gougi: {address} refuses the login of 'gougi'" in refused.output
            assert "hush" not in refused.output
            assert not refused.left_behind()
        finally:
            refused.kill()
        closed = play_on(tmp_path, address)
        try:
            closed.wait_for("trying_again", timeout_s=60)
            assert "closed the connection" in closed.output
            closed.press_ctrl_c()
            assert closed.end() == 130
            assert not closed.left_behind()
        finally:
            closed.kill()
