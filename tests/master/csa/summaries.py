"""Game summaries out of the recorded transcripts."""

from __future__ import annotations

from tests.master.csa.transcripts import NAMES, server_lines


def summary_lines(name: str) -> list[str]:
    """The summary block of a recorded session, markers included."""
    lines = list(server_lines(name))
    return lines[lines.index("BEGIN Game_Summary") : lines.index("END Game_Summary") + 1]


WITH_SUMMARY = [name for name in NAMES if "BEGIN Game_Summary" in list(server_lines(name))]
