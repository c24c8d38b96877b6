from __future__ import annotations

import pytest

from master.analysis.judgement import BANDS, Judged, Quality, band, band_range, statistics
from master.analysis.plan import Evaluation
from worker.score import mate_in, mated_in


def move(score: int, quality: Quality = Quality.GOOD, loss: float = 0.0, loss_cp: int = 0, **more: bool) -> Judged:
    return Judged(1, 0, "7g7f", quality, Evaluation(score, "2g2f"), score - loss_cp, loss, loss_cp, **more)


@pytest.mark.parametrize(
    ("score", "name"),
    [
        (mated_in(2), "lost"), (-1501, "lost"), (-1500, "bad"), (-700, "worse"), (-251, "worse"), (-250, "even"),
        (0, "even"), (250, "even"), (251, "better"), (700, "better"), (1500, "good"), (1501, "won"),
        (mate_in(9), "won"),
    ],
)  # fmt: skip
def test_bands(score: int, name: str) -> None:
    assert BANDS[band(score)] == name


def test_ranges_in_words() -> None:
    assert [band_range(index) for index in (0, 1, 3, 6)] == [
        "below -1500",
        "-1500 to -700",
        "-250 to 250",
        "above 1500",
    ]


def test_rates_by_band() -> None:
    found = statistics(
        "a",
        [
            move(0, Quality.BEST),
            move(10, Quality.DUBIOUS, 0.12, 300),
            move(800, Quality.INACCURACY, 0.06, 200),
            move(2000, Quality.BLUNDER, 0.6, 2000, missed_mate=True),
            move(0, Quality.FORCED),
            move(0, Quality.UNKNOWN),
        ],
        games=2,
    )
    assert (found.total.moves, found.games, found.missed_mates) == (4, 2, 1)
    even = found.bands[BANDS.index("even")]
    assert (even.moves, even.best, even.bad, even.loss, even.loss_cp) == (2, 0.5, 0.5, 0.06, 150)
    assert found.bands[BANDS.index("good")].bad == 0.0, "an inaccuracy is no bad move"
    assert found.bands[BANDS.index("lost")].moves == 0
    assert found.counts == {Quality.BEST: 1, Quality.DUBIOUS: 1, Quality.INACCURACY: 1, Quality.BLUNDER: 1}
    assert found.losses == ((3, 0), (3, 300), (5, 200), (6, 2000))


def test_no_moves() -> None:
    found = statistics("a", [])
    assert (found.total.moves, found.accuracy, found.losses) == (0, None, ())
