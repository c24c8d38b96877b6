"""Errors of the command line and of values, in plain words; help without types; unreadable inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from master.cli import run
from master.commands.checks import check_fleet
from master.commands.common import CommandError
from master.config import load_config
from tests.master.analysis.records import CSA


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("perft x", "N: 'x' is not a whole number"),
        ("perft 99", "N: '99' is too large: 20 or less"),
        ("eval --fv-scale 1025", "--fv-scale: '1025' is too large: 1024 or less"),
        ("perft", "N is missing; gougi perft --help explains"),
        ("replay a.jsonl --speed fast", "--speed: 'fast' is not a number"),
        ("serve --port -1", "--port: '-1' is too small: 0 or more"),
        ("play --nodse 2", "--nodse: no such option; there is --mode, --net, --nodes"),
        ("perft 1 2", "2: not expected; gougi perft --help explains"),
        ("perft --sfen", "--sfen: a value is missing"),
        ("nothing", "'nothing': no such command; gougi --help explains"),
        ("plya", "'plya': no such command; there is 'play', 'replay'"),
        ("eval --sfen a --file b", "give --sfen or --file, not both"),
        ("analyze game.csa", "game.csa: no such file"),
        ("config --config nofile.toml", "nofile.toml: no such file"),
        ("play --address head", "--address: 'head' is not HOST:PORT, such as 10.0.0.1:6379, nor auto"),
        ("play --net nofile.bin", "[engine] eval_file (--net): nofile.bin: no such file"),
        ("book show", "no book: give --book FILE, or name one in the configuration ([book] files, learn)"),
    ],
)
def test_errors(words: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words.split()) == 2
    first, *others = capsys.readouterr().err.splitlines()
    if words.startswith("play --nodse"):
        first = "; there is ".join((first.split("; ")[0], ", ".join(sorted(first.partition(" is ")[2].split(", ")))))
    assert first == f"gougi: {says}"
    assert not others


def test_a_group_without_a_word_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["book"]) == 0
    assert "Usage: gougi book" in capsys.readouterr().out


def test_nobody_at_the_address() -> None:
    settings = load_config({"cluster": {"address": "127.0.0.1:1"}})
    with pytest.raises(
        CommandError, match=r"--address: 127\.0\.0\.1:1: connection refused: does Ray run there\?"
    ) as error:
        check_fleet(settings)
    assert error.value.code == 1
    check_fleet(settings, single=True)


def test_an_engine_that_is_not_there() -> None:
    settings = load_config({"cluster": {"kinds": ({"command": ("no-such-engine",)},)}})
    with pytest.raises(CommandError, match=r"\[cluster\] kinds\[0\]: no-such-engine: no such program"):
        check_fleet(settings)


UNREADABLE = {
    "folder": None,
    "rubbish": bytes(range(128, 256)) * 20,
    "utf16": CSA.encode("utf-16"),
    "deep": b"[" * 100_000 + b"\n",
    "empty": b"",
}


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize(
    "words",
    [
        "config --config FILE.toml",
        "eval --file FILE",
        "eval --net FILE.bin",
        "bench --net FILE.bin",
        "play --net FILE.bin",
        "analyze FILE.csa",
        "analyze FILE.kif",
        "analyze FILE.json",
        "replay FILE.jsonl",
        "book stats FILE.db",
        "book stats FILE.sqlite",
        "book export out.db --book FILE.sqlite",
        "lab --net FILE.bin",
    ],
)
def test_inputs_that_cannot_be_read(kind: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = UNREADABLE[kind]
    name = next(word for word in words.split() if word.startswith("FILE"))
    if content is None:
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o600)
    code = run(words.split())
    errors = capsys.readouterr().err.splitlines()
    if kind == "empty" and ("toml" in name or ".db" in name):
        assert code == 0  # a file of no keys, and one of no positions
        return
    assert code == 2
    assert len(errors) == 1, errors
    assert errors[0].startswith("gougi: ") and name in errors[0]
