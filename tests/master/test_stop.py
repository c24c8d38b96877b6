"""``gougi stop``: players end after their game; and the final summary of a series of games."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.master.command import Running, gougi

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]


def player(folder: Path, env: dict[str, str], *words: str) -> Running:
    small = ("--hash", "16", "--nodes", "1", "--threads", "1", "--time", "1+0", "--max-moves", "6")
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
