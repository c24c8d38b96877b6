"""The files of a report: pages, and annotated records (the game, with the analysis in comments). Each is written as a
whole, so that a reader never sees half of one.

The comment of a move describes the position after it, in the lines that ShogiHome writes for its own analysis and shows
in its graph (``#評価値=``, ``#詰み=``, ``#読み筋=``, scores from black's view), and gives the judgement of the move in
words. The players' own scores in the record stay unchanged (``'** 123 ...``, ``**評価値=``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from master.analysis.game import RecordedGame
from master.analysis.html import game_page, summary_page
from master.analysis.judgement import Judged, Quality
from master.analysis.plan import Evaluation, Point
from master.analysis.report import (
    GameReport,
    ReportSettings,
    before,
    black_bound,
    black_view,
    move_words,
    players,
    pv_words,
    score_words,
)
from master.analysis.strength import Calibration
from master.records.lines import RecordedMove, kif_bytes, time_of
from master.records.reading import Ended, Line, ReadMove
from master.records.record import FROM_RSSHOGI, Ending, GameRecord, Variation
from worker.engine import Bound
from worker.files import replace_file
from worker.score import is_mate, mate_distance

_MARKS = str.maketrans("☗☖", "▲△")
_TIMES = {"": "持ち時間", "black_": "先手持ち時間", "white_": "後手持ち時間"}
_NAMES = {"site": "場所", "impasse_rule": "持将棋", "comment": "備考"}
"""KIF's words for facts that a reader names differently."""


def annotated(report: GameReport, settings: ReportSettings) -> GameRecord:
    """The record with comments. KIF also has the parts that CSA lacks (variations)."""
    told = {point.ply: (point, found) for point, found in zip(report.points, report.known, strict=True)}
    judged = {move.number: move for move in report.moves}
    source = record_of(report.game)
    for number, move in enumerate(source.moves, start=1):
        lines = [move.comment] if move.comment else []
        if number in judged:
            lines += _judgement(report, judged[number], told[number - 1][0])
        if number in told:
            lines += _evaluation(report, *told[number])
        source.moves[number - 1] = replace(move, comment="\n".join(lines))
    source.comment += f"\nanalysis: {settings.engine}; {settings.effort}"
    source.comment = source.comment.strip()
    return source


def record_of(game: RecordedGame) -> GameRecord:
    """A record of another program, to be written again."""
    source = game.reading
    assert source is not None
    facts = dict(source.facts)
    event, started, ended = (facts.pop(key, "") for key in ("event", "start_date", "end_date"))
    limits = {key: facts.pop(f"{key}time_control", "") for key in ("", "black_", "white_")}
    times = [time_of(limits[key] or limits[""]) for key in ("black_", "white_")]
    for key, name in _TIMES.items():
        if limits[key] and None in times:
            facts[name] = limits[key]  # in an unknown form
    most = facts.pop("max_moves", "")
    return GameRecord(
        game_id=event,
        names=source.names,
        start_sfen=game.start_sfen,
        time=None if times[0] is None or times[1] is None else (times[0], times[1]),
        max_moves=int(most) if most.isdecimal() else None,
        started=started,
        ended=ended,
        moves=[_move(move) for move in source.moves],
        ending=_ending(source.end, source.end_ms, source.end_comments),
        header={_NAMES.get(key, key): text for key, text in facts.items()},
        comment="\n".join(source.opening_comments),
        variations=list(_variations(source)),
    )


def _variations(game: Line) -> Iterator[Variation]:
    """The variations in their order after the game in a KIF: the latest come first, each followed by its own."""
    later = _beside(game, 1)
    while later:
        ply, line = later.pop()
        moves = [_move(move) for move in line.moves]
        yield Variation(ply, moves, _ending(line.end, line.end_ms, line.end_comments))
        later += _beside(line, ply)


def _beside(line: Line, first: int) -> list[tuple[int, Line]]:
    """Variations beside a line, with the number of their first move, in the order in which a stack returns them.

    Args:
        first: the number of the line's first move.
    """
    places = [*(move.beside for move in line.moves), line.after]
    return [(ply, other) for ply, others in enumerate(places, start=first) for other in reversed(others)]


def _move(move: ReadMove) -> RecordedMove:
    pv = tuple(move.pv.split())
    return RecordedMove(move.usi, move.ms, move.score, pv, move.nodes, "\n".join(move.comments))


def _ending(end: Ended | None, ms: int | None, remarks: Sequence[str]) -> Ending | None:
    if end is None:
        return None
    word = end.word if end.kind == "UNKNOWN" else FROM_RSSHOGI.get(end.kind, end.kind)
    return Ending(word, end.winner, remark="\n".join(remarks), consumed_ms=ms)


def _judgement(report: GameReport, move: Judged, point: Point) -> Iterator[str]:
    """The words about a move that was not the best."""
    if move.before is None or not move.had_better:
        return
    last = before(report, point)
    best = move_words(point, move.before.best, last).translate(_MARKS)
    if move.quality is not Quality.GOOD:
        sure = "" if move.sureness is None else f" ({move.sureness.value})"
        yield f"{move.quality.kanji} ({move.quality.word}): 勝率 -{100 * move.loss:.0f}%{sure}"
    if move.missed_mate:
        yield "詰み逃し (missed mate)"
    if move.allowed_mate:
        yield "頓死 (allows a mate)"
    score = score_words(black_view(move.before.score, move.turn)).translate(_MARKS)
    yield f"最善手 (best): {best} {score} " + _line(point, move.before.pv, last)


def _evaluation(report: GameReport, point: Point, found: Evaluation | None) -> Iterator[str]:
    if found is None:
        return
    score = found.score if point.turn == 0 else -found.score
    if found.bound is not Bound.EXACT:
        yield "評価値 " + score_words(score, black_bound(found.bound, point.turn)).translate(_MARKS)
    elif is_mate(score):
        winner = "先手勝ち" if (found.score > 0) == (point.turn == 0) else "後手勝ち"
        distance = abs(mate_distance(score))
        yield f"#詰み={winner}" + (f":{distance}手" if distance else "")
    else:
        yield f"#評価値={score}"
    if found.pv and found.best != "win":
        yield "#読み筋=" + _line(point, found.pv, before(report, point))
    if found.depth:
        yield f"#深さ={found.depth}"


def _line(point: Point, pv: tuple[str, ...], last: str | None) -> str:
    """As ShogiHome writes a variation: a triangle before each move and nothing between."""
    return "".join(pv_words(point, pv, last)).translate(_MARKS)


def page_of(folder: Path, stem: str) -> Path:
    return folder / f"{stem}.html"


def write_game(folder: Path, stem: str, report: GameReport, settings: ReportSettings) -> None:
    """The page of a game, and its annotated records. Raises OSError."""
    _write(page_of(folder, stem), game_page(report, settings).encode(errors="replace"))
    record = annotated(report, settings)
    _write(folder / f"{stem}.annotated.csa", record.to_csa().encode(errors="replace"))
    _write(folder / f"{stem}.annotated.kif", kif_bytes(record.to_kif()))


def write_summary(
    folder: Path,
    stems: Sequence[str],
    reports: Sequence[GameReport],
    calibration: Calibration | None,
    settings: ReportSettings,
) -> Path:
    """The page of several games, which links to those of each; returns it. Raises OSError."""
    page = folder / "index.html"
    linked = [(one, quote(page_of(folder, stem).name, safe="")) for one, stem in zip(reports, stems, strict=True)]
    _write(
        page,
        summary_page(linked, players(reports, calibration), settings).encode(errors="replace"),
    )
    return page


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)
