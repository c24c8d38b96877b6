"""The node's runner: no stop is lost, no job is answered twice, an engine's faults become messages."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from cluster.network.messages import COMMON, EVERY_JOB, Done, Job, NewGame, Report, Starves, Stop
from cluster.network.scale import Scale
from cluster.node.runner import CoreShare, NodeRunner
from tests.cluster.engines import HashEngine
from worker.engine import InfoCallback, Limits, SearchResult
from worker.rules import EnteringKingRule, Rules
from worker.score import WIN_SCALE
from worker.shogi import STARTPOS


class Bench:
    """A runner with its messages, and a way to wait for them."""

    def __init__(self, engine: HashEngine, scale: Scale = COMMON) -> None:
        self.engine = engine
        self.messages: list[Report | Done | Starves] = []
        self._changed = threading.Condition()
        self.runner = NodeRunner("n", engine, self._take, scale)

    def _take(self, message: Report | Done | Starves) -> None:
        with self._changed:
            self.messages.append(message)
            self._changed.notify_all()

    def wait(self, condition: Callable[[], bool], timeout_s: float = 3.0) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, timeout_s), self.messages

    def done(self, job_id: int) -> Done:
        self.wait(lambda: any(isinstance(m, Done) and m.job_id == job_id for m in self.messages))
        return next(m for m in self.messages if isinstance(m, Done) and m.job_id == job_id)

    def reports(self, job_id: int) -> list[Report]:
        return [m for m in self.messages if isinstance(m, Report) and m.job_id == job_id]


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(HashEngine(pace_s=0.002, max_depth=100_000))
    yield made
    made.runner.close()
    assert made.engine.closed


def job(job_id: int, **limits: object) -> Job:
    return Job(search_id=job_id, job_id=job_id, sfen=STARTPOS, **limits)  # type: ignore[arg-type]


def test_a_job_is_answered_by_reports_and_one_done(bench: Bench) -> None:
    bench.runner.handle(job(1, depth=5, multipv=2, moves=("7g7f",), ignoremoves=("3c3d",)))
    done = bench.done(1)
    assert done == Done("n", 1, 1, 1500, done.time_ms)
    assert [(r.depth, r.multipv) for r in bench.reports(1)] == [(d, m) for d in range(1, 6) for m in (1, 2)]
    assert bench.messages[-1] is done
    assert bench.runner.status() == (1, True)


def test_the_rules_of_a_job_reach_the_engine_and_its_own_stay(bench: Bench) -> None:
    bench.engine.rules = Rules(every_move=True)
    bench.runner.handle(job(1, depth=1, max_moves=256, draw_black=-50, draw_white=50))
    bench.done(1)
    assert bench.engine.rules == Rules(max_moves=256, draw_black=-50, draw_white=50, every_move=True)
    bench.runner.handle(job(2, depth=1))
    bench.done(2)
    assert bench.engine.rules == Rules(every_move=True)
    bench.runner.handle(job(3, depth=1, entering=EnteringKingRule.NONE))
    bench.done(3)
    assert bench.engine.rules == Rules(entering=EnteringKingRule.NONE, every_move=True)
    bench.runner.handle(job(4, depth=1))
    bench.done(4)
    assert bench.engine.rules == Rules(every_move=True)


def test_the_first_moments_bring_the_first_line_and_the_last_not_each(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shallow iterations end by the dozen within milliseconds, and each report costs the master as much as a late one.
    The first report goes out at once, because it is an answer; so does the last one of any job."""
    monkeypatch.setattr("cluster.node.runner._EARLY_S", 60.0)
    bench.runner.handle(job(1, depth=30))
    bench.done(1)
    assert [report.depth for report in bench.reports(1)] == [1, 30]
    bench.runner.handle(job(2, depth=9, alpha=20))
    bench.done(2)
    assert [report.depth for report in bench.reports(2)] == list(range(1, 10)), "a window's result is waited for"
    monkeypatch.setattr("cluster.node.runner._EARLY_S", 0.0)
    bench.runner.handle(job(3, depth=9))
    bench.done(3)
    assert [report.depth for report in bench.reports(3)] == list(range(1, 10))


def test_a_stop_ends_an_infinite_job(bench: Bench) -> None:
    bench.runner.handle(job(1))
    bench.wait(lambda: len(bench.reports(1)) > 3)
    assert bench.runner.status() == (1, False)
    bench.runner.handle(Stop(1))
    bench.done(1)


def test_an_early_stop_holds_for_a_late_job(bench: Bench) -> None:
    bench.runner.handle(Stop(5))
    bench.runner.handle(job(4))
    bench.runner.handle(job(5))
    assert bench.runner.status() == (0, True)
    bench.runner.handle(job(6, depth=1))
    bench.done(6)
    assert not bench.reports(5)
    assert not bench.reports(4)


def test_a_newer_job_takes_the_place_of_the_running_one(bench: Bench) -> None:
    bench.runner.handle(job(1))
    bench.wait(lambda: bool(bench.reports(1)))
    bench.runner.handle(job(2, depth=2))
    bench.done(1)
    bench.done(2)
    bench.runner.handle(job(2, depth=2))
    bench.runner.handle(job(1, depth=2))
    time.sleep(0.05)
    assert sum(isinstance(message, Done) for message in bench.messages) == 2


def test_a_stop_of_an_older_job_leaves_the_newer_alone(bench: Bench) -> None:
    bench.runner.handle(job(1))
    bench.runner.handle(job(2, depth=30))
    bench.runner.handle(Stop(1))
    assert bench.done(2).nodes == 100 * 30 * 31 // 2


def test_jobs_and_stops_in_any_haste(bench: Bench) -> None:
    """Infinite jobs, each stopped at once: if one stop were lost, the next `done` would never come."""
    for number in range(1, 200):
        bench.runner.handle(job(number))
        if number % 3:
            time.sleep(0.0005 * (number % 5))
        bench.runner.handle(Stop(number))
    bench.runner.handle(job(1000, depth=1))
    bench.done(1000)


def test_without_its_master_a_job_that_has_no_deadline_ends(bench: Bench) -> None:
    bench.runner.handle(job(1, movetime_ms=300))
    bench.wait(lambda: bool(bench.reports(1)))
    bench.runner.master_lost()
    assert bench.done(1).time_ms >= 295
    bench.runner.handle(job(2))
    bench.wait(lambda: bool(bench.reports(2)))
    bench.runner.master_lost()
    bench.done(2)
    bench.runner.handle(job(3, depth=1))
    bench.done(3)


def test_a_dismissed_node_does_nothing_any_more(bench: Bench) -> None:
    bench.runner.handle(job(1))
    bench.wait(lambda: bool(bench.reports(1)))
    bench.runner.handle(Stop(EVERY_JOB))
    bench.done(1)
    bench.runner.handle(job(2, depth=1))
    assert bench.runner.status() == (1, True)


def test_a_bad_position_is_an_error_and_not_the_end(bench: Bench) -> None:
    bench.runner.handle(job(1, moves=("7g7e",)))
    assert "7g7e" in bench.done(1).error
    bench.runner.handle(job(2, depth=1))
    assert bench.done(2).error == ""


def test_a_new_game_is_passed_on_before_the_next_job(bench: Bench) -> None:
    bench.runner.handle(job(1, depth=1))
    bench.done(1)
    bench.runner.handle(NewGame())
    assert bench.engine.games == 0
    bench.runner.handle(job(2, depth=1))
    bench.done(2)
    assert bench.engine.games == 1


def test_an_engine_that_breaks_is_an_error_and_not_the_end() -> None:
    class Breaking(HashEngine):
        def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
            if limits.depth == 13:
                raise RuntimeError("out of luck")
            return super().go(limits, on_info)

    bench = Bench(Breaking())
    bench.runner.handle(job(1, depth=13))
    assert bench.done(1).error == "RuntimeError: out of luck"
    bench.runner.handle(job(2, depth=1))
    assert bench.done(2).error == ""
    bench.runner.close()


def test_an_engine_with_another_scale_is_asked_on_its_own_and_reports_on_ours() -> None:
    engine = HashEngine(max_depth=3, score=lambda _move, depth: 100 * depth)
    bench = Bench(engine, Scale(WIN_SCALE / 2))
    bench.runner.handle(job(1, depth=3, alpha=100, draw_black=-8, moves=("7g7f",)))
    bench.done(1)
    bench.runner.close()
    ((_, _, limits),) = engine.jobs
    assert (limits.alpha, engine.rules.draw_black) == (50, -4)
    assert [report.score for report in bench.reports(1)] == [200, 400, 600]


def test_lines_that_only_the_result_has_are_reported() -> None:
    class Quiet(HashEngine):
        def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
            return super().go(limits, None)

    bench = Bench(Quiet())
    bench.runner.handle(job(1, depth=4, multipv=2))
    bench.done(1)
    assert [(r.depth, r.multipv) for r in bench.reports(1)] == [(4, 1), (4, 2)]
    bench.runner.close()


def test_close_while_searching_and_twice() -> None:
    bench = Bench(HashEngine(pace_s=0.002))
    bench.runner.handle(job(1))
    bench.wait(lambda: bool(bench.reports(1)))
    bench.runner.close()
    bench.runner.close()
    assert bench.engine.closed


def test_only_a_job_in_the_background_has_a_low_priority() -> None:
    """A lowered priority cannot be raised again: if that of the process were lowered, the second job would starve."""

    class Mannered(HashEngine):
        niceness: tuple[int, ...] = ()

        def go(self, limits: Limits, on_info: InfoCallback | None = None) -> SearchResult:
            helper: list[int] = []
            thread = threading.Thread(target=lambda: helper.append(os.nice(0)))  # as an engine's own threads
            thread.start()
            thread.join()
            self.niceness += (os.nice(0), *helper)
            return super().go(limits, on_info)

    usual, engine = os.nice(0), Mannered()
    bench = Bench(engine)
    for number, background in enumerate((True, False, True), start=1):
        bench.runner.handle(job(number, depth=2, background=background))
        bench.done(number)
    bench.runner.close()
    assert engine.niceness == (19, 19, usual, usual, 19, 19)


def test_a_node_that_waits_for_its_core_says_so(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([(0.0, 0.0), (1.2, 1.8)])
    monkeypatch.setattr("cluster.node.runner.core_time", lambda: next(times))
    bench.runner.handle(job(1, depth=2))
    bench.wait(lambda: any(isinstance(message, Starves) for message in bench.messages))
    assert bench.messages[-1] == Starves("n", 40, len(os.sched_getaffinity(0)))


def test_a_job_in_the_background_is_to_wait_for_a_core(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([(0.0, 0.0), (0.0, 99.0)])
    monkeypatch.setattr("cluster.node.runner.core_time", lambda: next(times))
    bench.runner.handle(job(1, depth=2, background=True))
    bench.done(1)
    bench.runner.close()  # its last messages are sent
    assert not any(isinstance(message, Starves) for message in bench.messages)


def test_a_thread_that_only_listens_to_an_engine_does_not_starve(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's process has its own cores: the waiting time of the thread that reads its lines is no sign of
    starvation."""
    times, now = iter([(0.0, 0.0), (1.2, 1.8)]), iter([100.0])
    monkeypatch.setattr("cluster.node.runner.core_time", lambda: next(times, (1.2, 1.8)))
    monkeypatch.setattr("cluster.node.runner.time", SimpleNamespace(monotonic=lambda: next(now, 200.0)))
    bench.runner.handle(job(1, depth=2))
    bench.done(1)
    bench.runner.handle(job(2, depth=2, background=True))
    bench.done(2)
    assert not any(isinstance(message, Starves) for message in bench.messages)


def test_a_node_with_a_core_of_its_own_says_nothing() -> None:
    core_share = CoreShare()
    assert [core_share.note(1.0, 0.02, second) for second in range(100)] == [None] * 100


def test_a_starving_node_says_how_much_it_has_once_a_minute() -> None:
    core_share = CoreShare()
    told = [(second, percent) for second in range(1, 130) if (percent := core_share.note(0.5, 0.5, second)) is not None]
    assert told == [(3, 50), (63, 50), (123, 50)]


@pytest.mark.parametrize(("ran_s", "percent"), [(3.04, None), (2.96, 74), (0.04, 1)])
def test_the_place_of_the_line(ran_s: float, percent: int | None) -> None:
    assert CoreShare().note(ran_s, 4.0 - ran_s, 0.0) == percent


def test_a_slow_moment_and_an_engine_that_sleeps_are_no_starving() -> None:
    core_share = CoreShare()
    assert core_share.note(0.1, 0.4, 0.0) is None
    assert [core_share.note(1.0, 0.0, second) for second in (1, 2, 3, 4)] == [None] * 4
    assert [core_share.note(0.0, 0.0, second) for second in (5, 6, 7, 8)] == [None] * 4
