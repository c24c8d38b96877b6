"""The report as one self-contained HTML file: no network, no server, no library.

The data is embedded as JSON, and the page's own script draws it. The charts and the board are hand-made SVG: two charts
and a board are 250 lines, less than a chart library's smallest build, and the file stays small enough for e-mail. A
Content-Security-Policy forbids the page to load anything. The script inserts text only as text, so a player's name
cannot inject markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

from master.analysis.judgement import LEVELS, Judged, Quality
from master.analysis.plan import Evaluation, Point
from master.analysis.report import (
    GameReport,
    PlayerReport,
    ReportSettings,
    before,
    black_bound,
    black_view,
    move_words,
    player_facts,
    pv_words,
    score_facts,
    score_words,
    strength_words,
)
from master.ui.texts import page_say, page_words
from worker.engine import Bound
from worker.score import is_mate

_ENDINGS = {
    "RESIGN": "resignation",
    "TIMEOUT": "time up",
    "INTERRUPT": "interrupted",
    "REPETITION_DRAW": "repetition",
    "IMPASSE": "impasse",
    "DRAW": "draw",
    "WIN_BY_DECLARATION": "declaration",
    "TRY": "try",
    "WIN_BY_ILLEGAL_MOVE": "an illegal move",
    "LOSE_BY_ILLEGAL_MOVE": "an illegal move",
    "LOSE_BY_DEFAULT": "default",
    "MAX_MOVES": "move limit",
    "MATE": "mate",
    "NO_MATE": "no mate",
    "UNKNOWN": "unknown",
}
"""rsshogi's kinds of endings, in words."""


def game_page(report: GameReport, settings: ReportSettings) -> str:
    game = report.game
    data = {
        "kind": "game",
        "names": list(game.names),
        "event": game.event,
        "date": game.date,
        "source": game.source.rsplit("/", 1)[-1],
        "notice": game.notice,
        "result": result_text(report),
        "first": report.points[0].ply,
        "positions": [
            _position(report, point, found) for point, found in zip(report.points, report.known, strict=True)
        ],
        "moves": [_move(report, point, move) for point, move in zip(report.points, report.moves, strict=False)],
        "turning": [move.number for move in report.turning],
        **_common(report.players, settings),
    }
    return _page(" - ".join(game.names), data)


def summary_page(
    reports: Sequence[tuple[GameReport, str]], players: Sequence[PlayerReport], settings: ReportSettings
) -> str:
    """The page of several games.

    Args:
        reports: each with the file name of its page, in the same folder.
    """
    games = [
        {
            "names": list(report.game.names),
            "page": page,
            "source": report.game.source.rsplit("/", 1)[-1],
            "result": result_text(report),
            "moves": len(report.game.moves),
            "accuracy": [player_facts(player)["accuracy"] for player in report.players],
            "wins": [score_facts(_black(point, found))["win"] for point, found in _known(report)],
        }
        for report, page in reports
    ]
    return _page(
        page_say("{count} games", count=len(games)),
        {"kind": "summary", "games": games, **_common(players, settings)},
    )


def result_text(report: GameReport) -> str:
    """``☗ wins by resignation``; empty if the record does not say."""
    game = report.game
    how = page_say(_ENDINGS.get(game.ending, game.ending.replace("_", " ").lower()))
    if game.winner is None:
        return how
    side = "☗☖"[game.winner]
    return page_say("{side} wins by {how}", side=side, how=how) if how else page_say("{side} wins", side=side)


def _common(players: Sequence[PlayerReport], settings: ReportSettings) -> dict[str, Any]:
    return {
        "players": [player_facts(player, page_say) | {"level": strength_words(player, settings)} for player in players],
        "levels": [{"word": level.word, "name": _name(level), "loss": level.loss} for level in LEVELS],
        "engine": settings.engine,
        "effort": settings.effort,
        "noStrength": settings.no_strength,
        "lang": "ja" if page_words() else "en",
        "words": dict(page_words()),
    }


def _known(report: GameReport) -> list[tuple[Point, Evaluation | None]]:
    return list(zip(report.points, report.known, strict=True))


def _black(point: Point, found: Evaluation | None) -> int | None:
    return None if found is None else black_view(found.score, point.turn)


def _position(report: GameReport, point: Point, found: Evaluation | None) -> dict[str, Any]:
    bound = Bound.EXACT if found is None else black_bound(found.bound, point.turn)
    head: dict[str, Any] = {
        "sfen": point.sfen,
        **score_facts(_black(point, found)),
        "score": score_words(_black(point, found), bound, page_say),
    }
    if found is None:
        return head
    last = before(report, point)
    return head | {
        "best": found.best,
        "pv": list(found.pv),
        "words": pv_words(point, found.pv, last),
        "depth": found.depth,
        "nodes": found.nodes,
        "lines": [
            {
                "score": score_words(black_view(line.score, point.turn), black_bound(line.bound, point.turn), page_say),
                "win": score_facts(black_view(line.score, point.turn))["win"],
                "pv": list(line.pv),
                "words": pv_words(point, line.pv, last),
            }
            for line in found.alternatives[1:]
        ],
    }


def _move(report: GameReport, point: Point, move: Judged) -> dict[str, Any]:
    played = report.game.moves[move.number - 1]
    return {
        "n": move.number,
        "turn": move.turn,
        "usi": move.usi,
        "text": move_words(point, move.usi, before(report, point)),
        "quality": move.quality.word,
        "name": _name(move.quality),
        "sure": "" if move.sureness is None or not move.told else page_say(move.sureness.value),
        "loss": round(move.loss, 4),
        "lossCp": move.loss_cp,
        "better": _own_score(move) if move.had_better else "",
        "missed": move.missed_mate,
        "allowed": move.allowed_mate,
        "ms": played.ms,
        "own": played.score,
    }


def _name(quality: Quality) -> str:
    """The class's name in the page's language; empty: it has none."""
    return quality.kanji if page_words() or not quality.kanji else quality.word


def _own_score(move: Judged) -> str:
    """Score of the best move for the side that made another one: ``+300 for ☖``."""
    assert move.before is not None, "a move that had a better one has been compared"
    if is_mate(move.before.score):
        return score_words(black_view(move.before.score, move.turn), text=page_say)
    score = score_words(move.before.score, move.before.bound)
    return page_say("{score} for {side}", score=score, side="☗☖"[move.turn])


def _page(title: str, data: dict[str, Any]) -> str:
    parts = {name: _file(name) for name in ("page.html", "page.css", "board.js", "chart.js", "page.js")}
    # "<" is escaped, so the data cannot end its script element.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    filling = {
        "lang": str(data["lang"]),
        "title": escape(page_say("{title}: analysis by Gougi", title=title)),
        "noscript": page_say("This report is drawn by a script in this file; nothing is loaded from elsewhere."),
        "style": parts["page.css"],
        "script": "\n".join(parts[name] for name in ("board.js", "chart.js", "page.js")),
        "data": text,
    }
    # In one pass, so that inserted text is not substituted again.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: filling[place[1]], parts["page.html"])


def _file(name: str) -> str:
    return resources.files("master.analysis").joinpath("page", name).read_text(encoding="utf-8")
