"""Which files are copied when, in virtual time."""

from __future__ import annotations

import itertools

from master.cloud.spool import FileState, Spool, decode


def at(seconds: float, size: int = 100) -> FileState:
    return FileState(size, round(seconds * 1e9))


def test_a_record_is_copied_when_its_game_pauses_or_is_over_and_not_again() -> None:
    spool = Spool()
    assert spool.due({"g.csa": at(100)}, 110) == []
    assert spool.due({"g.csa": at(100)}, 120) == ["g.csa"]
    spool.done("g.csa", at(100), 120)
    assert spool.due({"g.csa": at(100)}, 9999) == []
    assert spool.due({"g.csa": at(130)}, 150) == ["g.csa"]


def test_a_log_that_never_pauses_is_copied_every_ten_minutes() -> None:
    spool = Spool()
    copies = []
    for now in range(0, 3600, 5):
        for key in spool.due({"l.jsonl": at(now)}, now):
            copies.append(now)
            spool.done(key, at(now), now)
    assert copies == [600, 1200, 1800, 2400, 3000]


def test_at_the_end_all_that_is_new_is_due_at_once() -> None:
    spool = Spool({"old.csa": at(1)})
    spool.failed(100)
    assert spool.due({"old.csa": at(1), "b.csa": at(99), "a.jsonl": at(98)}, 100, last=True) == ["a.jsonl", "b.csa"]


def test_an_archive_that_fails_is_left_alone_for_longer_and_longer() -> None:
    spool = Spool()
    tries = []
    for now in range(100, 4000):
        if spool.due({"g.csa": at(0)}, now):
            tries.append(now)
            spool.failed(now)
    pauses = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert pauses[:7] == [5, 10, 20, 40, 80, 160, 320]
    assert set(pauses[7:]) == {600}
    spool.done("g.csa", at(0), 4000)
    assert spool.due({"h.csa": at(0)}, 4000) == ["h.csa"]


def test_what_arrived_is_known_after_a_crash() -> None:
    spool = Spool()
    spool.done("g.csa", at(5, 7), 30)
    assert decode(spool.encode()).arrived == {"g.csa": at(5, 7)}


def test_a_spool_that_cannot_be_read_copies_everything_once_more() -> None:
    for data in (b"", b"[1]", b'{"g.csa": 3}', b"\xff"):
        assert decode(data).arrived == {}
