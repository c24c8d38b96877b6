"""Questions about a position: permission, answers, and order."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

import pytest

from master.live.asking import OvertakenError
from tests.master.live.asked import Searcher, made
from tests.master.live.served import Served
from worker.shogi import STARTPOS

WHITE = "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2"


@pytest.mark.parametrize(("sfen", "score"), [(STARTPOS, 50), (WHITE, -50)])
async def test_scores_are_from_blacks_view(sfen: str, score: int) -> None:
    found = await made(Searcher()).ask(sfen)
    assert found["move"] == "7g7f" and found["nodes"] == 100
    assert found["lines"] == [{"score": score, "depth": 3, "pv": ["7g7f", "3c3d"]}] * 3


async def test_the_newest_question_ends_the_search_and_goes_first() -> None:
    searcher = Searcher(waits=True)
    asker = made(searcher)
    first = asyncio.create_task(asker.ask(STARTPOS))
    await asyncio.to_thread(searcher.begun.wait, 20)
    searcher.begun.clear()
    second = asyncio.create_task(asker.ask("overtaken - - 1"))
    await asyncio.sleep(0)
    third = asyncio.create_task(asker.ask(WHITE))
    await asyncio.to_thread(searcher.begun.wait, 20)
    searcher.stop()
    answers = await asyncio.gather(first, second, third, return_exceptions=True)
    asker.close()
    first, second, third = answers
    assert first["lines"] and third["lines"]
    assert isinstance(second, OvertakenError)
    assert searcher.searched == [STARTPOS, WHITE]
    assert searcher.closed


def test_only_the_page_itself_may_ask() -> None:
    place = f"/ask?sfen={quote(STARTPOS)}"
    with Served() as served:
        assert served.get(place, **{"X-Gougi": "1"}).status == 403, "there is no engine"
    searcher = Searcher()
    with Served(asker=made(searcher)) as served:
        assert served.get(place).status == 403
        assert searcher.searched == []
        assert served.get(place, "POST", **{"X-Gougi": "1"}).status == 405
        answer = served.get(place, **{"X-Gougi": "1"})
        assert answer.status == 200 and b'"pv":["7g7f","3c3d"]' in answer.read()
        answer = served.get("/ask?sfen=nonsense", **{"X-Gougi": "1"})
        assert answer.status == 422 and answer.read() == b"no SFEN: nonsense"
