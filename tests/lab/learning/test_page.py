"""The page and the plot of a run."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from lab.learning.folder import page, plot
from lab.learning.ledger import Done, Kind, Ledger
from tests.lab.learning.ledgers import with_generation, with_match

EMPTY = Ledger("0" * 64)


def test_the_page_has_tables_matches_and_commands() -> None:
    ledger = with_match(with_generation(EMPTY), 1, "yardstick", 40, 0)
    ledger = with_generation(ledger, verdict="H0").begun(3)
    ledger = ledger.with_step(
        3,
        Done(
            Kind.GAMES,
            "",
            ("selfplay", "--out", "run/generation-3/games", "EvalFile=run/nets/1.bin", "a-run/x"),
            1.0,
            {"games": 1, "positions": 2},
        ),
    )
    text = page(ledger, "run")
    row = (
        "| 1 | 0 | 1,000 | 120,000 | 60,000 | 0.00840 | 4.5 | 87.0%, 8.90 | 0.6065, 0.4645 | +100 (-50 to +90) "
        "| promoted | 0.1 |"
    )
    assert row in text
    assert "| 2 | 1 |" in text and "| refused |" in text and "| under way |" in text
    assert "| 1 | yardstick | 1,000 nodes | 40 | 40, 0, 0 | 100.0% | +inf (-50 to +inf) |" in text
    assert "gougi selfplay --out generation-3/games EvalFile=nets/1.bin a-run/x\n" in text
    assert "SHA-256 `ffff" in text


def test_a_page_of_nothing() -> None:
    assert page(EMPTY, "run").count("\n|") == 2


def test_the_plot_is_a_picture_also_of_nothing_and_of_endless_elo() -> None:
    for ledger in (EMPTY, EMPTY.begun(1), with_match(with_generation(EMPTY), 1, "<one> & other", 9, 0)):
        root = ET.fromstring(plot(ledger))
        assert root.tag.endswith("svg")
    assert (
        "against &lt;one&gt; &amp; other" in plot(ledger) and "<polygon" in plot(ledger) and "<circle" in plot(ledger)
    )
