"""The time of one move by the words of its ``go`` line and the options."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.clock import ClockSettings, Signs, Watch
from worker.clock.gui_clock import GuiClock, TimeOptions, Turn
from worker.shogi import STARTPOS
from worker.usi.options import Options

TIME_OPTIONS = TimeOptions(ClockSettings(network_margin_ms=100, most_reserve_ms=0))


def turn(
    of_time: TimeOptions = TIME_OPTIONS,
    gone: float = 0,
    known_ms: int = 0,
    colour: int = 0,
    ply: int = 0,
    **numbers: int,
) -> Turn:
    watch = Watch(None, "2g2f" if known_ms else "", known_ms)
    found = GuiClock().turn(
        numbers,
        STARTPOS,
        (),
        of_time,
        colour=colour,
        ply=ply,
        began_ms=50,
        now_ms=50 + gone,
        watch=watch,
        known_ms=known_ms,
    )
    assert found is not None
    return found


def chosen(**options: object) -> TimeOptions:
    """The single engine's times with these options."""
    values = Options()
    for name, value in options.items():
        values.set(name, str(value))
    return values.time_options


def test_no_words_of_time() -> None:
    assert GuiClock().turn({"nodes": 5}, STARTPOS, (), TIME_OPTIONS, colour=0, ply=0, began_ms=0, now_ms=0) is None


def test_each_side_has_its_own_time() -> None:
    assert turn(btime=1000, wtime=60_000).hard_ms <= 900
    assert turn(btime=1000, wtime=60_000, colour=1, ply=1).hard_ms > 900


@pytest.mark.parametrize("known_ms", [0, 5000])
@pytest.mark.parametrize("numbers", [{"btime": 1550}, {"btime": 0, "byoyomi": 999}, {"btime": 10, "binc": 10}])
def test_milliseconds_are_not_rounded_up(numbers: dict[str, int], known_ms: int) -> None:
    found = turn(known_ms=known_ms, **numbers)
    assert found.soft_ms <= found.hard_ms
    assert found.hard_ms <= max(20, sum(numbers.values()) - 100)


def test_a_move_may_have_a_least_time_within_the_limit() -> None:
    slow = replace(TIME_OPTIONS, least_ms=5000)
    assert turn(btime=60_000).soft_ms < 5000
    assert turn(slow, btime=60_000).soft_ms == min(5000, turn(btime=60_000).hard_ms)
    short = turn(slow, btime=1000)
    assert short.soft_ms == short.hard_ms


def test_a_move_that_changes_late_gets_more_time_than_one_that_stays() -> None:
    steady, changed = turn(btime=60_000), turn(btime=60_000)
    for elapsed_ms in (100, 200, 400):
        steady.reconsidered(Signs(elapsed_ms, "2g2f"))
        changed.reconsidered(Signs(elapsed_ms, "2g2f" if elapsed_ms < 400 else "7g7f"))
    assert steady.soft_ms < changed.soft_ms


def test_no_time_at_all_is_no_search_without_end() -> None:
    assert turn(movetime=0).hard_ms == 1
    assert turn(movetime=300, gone=400).hard_ms == 1
    assert turn(btime=0, wtime=0).hard_ms > 0
    assert turn(chosen(), btime=0, wtime=0).hard_ms == 1000
    # Only our clock is at 0: that is the end of our time, and no game without limit.
    assert turn(chosen(), btime=0, wtime=5_000).hard_ms <= 20


class TestOptions:
    """The single engine's, whose options are the fleet's."""

    def test_the_last_of_the_time_is_kept(self) -> None:
        for last in (200, 1120, 3000):
            assert turn(chosen(NetworkDelay2=last), btime=0, byoyomi=60_000).hard_ms == 60_000 - last
            assert turn(chosen(NetworkDelay2=last), btime=0, byoyomi=10_000).hard_ms == 10_000 - last
        # Of less than ten seconds, no more than a tenth besides the delay of each move.
        assert turn(chosen(), btime=0, byoyomi=5_000).hard_ms == 5_000 - 120 - 500
        assert turn(chosen(NetworkDelay2=3000), btime=0, byoyomi=5_000).hard_ms == 5_000 - 120 - 1_440

    @pytest.mark.parametrize("byoyomi", [50, 300, 1000, 5000])
    def test_most_of_a_short_byoyomi_is_used(self, byoyomi: int) -> None:
        """And at least half of it, however long the default delays are."""
        found = turn(chosen(), btime=0, wtime=0, byoyomi=byoyomi)
        kept = min(120 + byoyomi / 10, byoyomi / 2)
        assert found.soft_ms == found.hard_ms == found.soonest_ms == pytest.approx(byoyomi - kept, abs=1)

    def test_the_delay_is_kept_free_of_each_second(self) -> None:
        for delay in (0, 120, 400):
            assert turn(chosen(NetworkDelay=delay), btime=600_000, binc=5_000).soft_ms % 1000 == (1000 - delay) % 1000

    def test_a_begun_second_is_used_unless_it_is_told_otherwise(self) -> None:
        assert turn(chosen(), btime=60_000).soonest_ms == 880
        assert turn(chosen(RoundUpToFullSecond="false"), btime=60_000).soonest_ms < 100
        assert turn(chosen(), btime=60_001).soonest_ms < 100

    def test_a_slower_mover_takes_more_of_the_main_time(self) -> None:
        times = [turn(chosen(SlowMover=percent), btime=600_000).soft_ms for percent in (50, 100, 200, 1000)]
        assert times == sorted(set(times))
        assert times[1] / times[0] == pytest.approx(2, abs=0.2)

    def test_byoyomi_has_nothing_to_do_with_the_mover(self) -> None:
        times = {turn(chosen(SlowMover=percent), btime=0, byoyomi=3_000).soft_ms for percent in (50, 100, 200)}
        assert len(times) == 1

    def test_a_least_time_holds_for_an_engine_that_is_done_early(self) -> None:
        found = turn(chosen(MinimumThinkingTime=4000), btime=600_001)
        signs = [Signs(time, "7g7f", 0, changes=0, effort=0.99) for time in (3000, 3999, 4000)]
        assert [found.goes_on(sign, 50 + sign.elapsed_ms) for sign in signs] == [True, True, False]
        assert turn(chosen(MinimumThinkingTime=4000), btime=600).hard_ms <= 300


def test_an_iteration_that_saves_nothing_is_finished() -> None:
    found = turn(chosen(), btime=0, byoyomi=3_000)
    sure = Signs(2_000, "7g7f", 0, changes=0, effort=1.0)
    assert found.goes_on(sure, 50 + found.hard_ms - 1)
    assert turn(movetime=3_000).goes_on(sure, 50 + 2_999)


def test_the_rest_of_any_second_that_is_charged_is_free() -> None:
    found = turn(chosen(), btime=600_000)
    margin = 1000 - found.free_until_ms(50 + 1) + 50
    assert 0 < margin < 500
    for second in (1, 3, 6):
        for elapsed in (1000 * second - margin, 1000 * second, 1000 * second + 999 - margin):
            assert found.free_until_ms(50 + elapsed) == 50 + 1000 * (second + 1) - margin
    assert found.free_until_ms(50 + 3_600_000) == 50 + 3_600_000
    late = turn(chosen(), gone=300, btime=600_000)
    assert late.free_until_ms(350 + 10) == 50 + 1000 - margin
    fine = turn(chosen(RoundUpToFullSecond="false"), btime=600_000)
    assert fine.free_until_ms(50 + 1234) == 50 + 1234
    assert turn(movetime=3_000).free_until_ms(777) == 777


def test_no_iteration_begins_that_would_hardly_end_in_time() -> None:
    found = turn(chosen(), btime=600_001)
    share = found.soft_ms * 0.7 * 0.6
    signs = [Signs(time, "7g7f", 0, changes=0) for time in (share / 2, share * 0.95, share * 1.05)]
    assert [found.goes_on(sign, 50 + sign.elapsed_ms) for sign in signs] == [True, True, False]


@given(
    st.integers(0, 3_600_000),
    st.integers(0, 60_000),
    st.integers(0, 60_000),
    st.booleans(),
    st.integers(1, 1000),
    st.integers(0, 10_000),
    st.integers(0, 10_000),
)
def test_neither_limit_reaches_the_last_of_the_time(
    main: int, increment: int, byoyomi: int, whole: bool, slow: int, delay: int, last: int
) -> None:
    options = chosen(RoundUpToFullSecond=str(whole).lower(), SlowMover=slow, NetworkDelay=delay, NetworkDelay2=last)
    found = turn(options, btime=main, binc=increment, byoyomi=byoyomi)
    everything = main + increment + byoyomi
    least = options.clock.least_ms
    assert least <= found.soft_ms <= found.hard_ms
    assert found.soonest_ms <= found.hard_ms
    if everything:
        kept = min(delay + min(max(0, last - delay), everything / 10), everything / 2)
        assert found.hard_ms <= max(least, everything - kept)
