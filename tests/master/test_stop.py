"""``gougi stop``: players end after their game; and what a series of games says in the end."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.master.command import Running, gougi

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]


def player(folder: Path, env: dict[str, str], *words: str) -> Running:
    small = ("--hash", "16", "--nodes", "1", "--threads", "1", "--time", "1+0", "--max-moves", "12")
    return Running(["play", *small, "--records", folder.name, "--name", folder.name, *words], folder.parent, env)


def test_players_end_after_their_game(tmp_path: Path) -> None:
    env = {"GOUGI_RUN_DIR": str(tmp_path / "run"), "GOUGI_PAGE_LISTEN": "127.0.0.1:0"}
    (tmp_path / "run").mkdir(mode=0o700)

    def stop(*words: str) -> tuple[int, str]:
        done = gougi("stop", *words, cwd=tmp_path, env=env)
        return done.returncode, done.stdout + done.stderr

    assert stop() == (1, "gougi: no player of yours runs here\n")
    anna, bert = (player(tmp_path / name, env, "--games", "0") for name in ("anna", "bert"))
    try:
        for each in (anna, bert):
            each.wait_for("record: ")
        code, said = stop()
        assert code == 2
        assert all(f"gougi play ({name}, process " in said for name in ("anna", "bert"))
        assert stop("1")[0] == 1
        assert stop(str(anna.process.pid)) == (
            0,
            f"gougi play (anna, process {anna.process.pid}) ends after its game\n",
        )
        assert anna.end(100) == 0, anna.output
        page = re.search(r"live page: (\S+)", bert.output)
        assert page is not None and page[0] in gougi("status", cwd=tmp_path, env=env).stdout
        assert stop()[0] == 0
        assert bert.end(100) == 0, bert.output
        for each in (anna, bert):
            assert "this game is the last one" in each.output
            games = each.output.count("record: ")
            assert f"{games} games: " in each.output or games == 1
            assert not each.left_behind()
    finally:
        for each in (anna, bert):
            each.kill()


def test_a_series_ends_with_a_tally_and_counts_once_in_the_log(tmp_path: Path) -> None:
    running = player(tmp_path / "anna", {}, "--games", "2")
    try:
        assert running.end(200) == 0, running.output
    finally:
        running.kill()
    (tally,) = [line for line in running.lines if line.startswith("2 games: ")]
    assert sum(map(int, re.findall(r"(\d+) (?:won|lost|drawn|without)", tally))) == 2
    summary = gougi("log", *map(str, (tmp_path / "anna").glob("*.jsonl")), cwd=tmp_path).stdout
    assert "games: 2: " in summary


def test_ctrl_c_says_where_record_and_log_are(tmp_path: Path) -> None:
    running = player(tmp_path / "anna", {}, "--time", "60+0")
    try:
        running.wait_for("depth")
        running.press_ctrl_c()
        assert running.end(60) == 130
    finally:
        running.kill()
    for words in ("record: ", "log: "):
        (path,) = [line.removeprefix(words) for line in running.lines if line.startswith(words)]
        assert os.path.exists(tmp_path / path)
