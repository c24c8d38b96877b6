"""Annotated records: the game as it was, with the analysis in the comments.

The comment of a move tells of the position behind it, in the lines that ShogiHome writes for its own analysis and
shows in its graph (``#評価値=``, ``#詰み=``, ``#読み筋=``, scores from black's view), with the judgement of the move in
words. The players' own scores, where the record has them, stay what they are (``'** 123 ...``, ``**評価値=``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from master.analysis.game import Game
from master.analysis.judgement import Judged, Quality
from master.analysis.notation import before, move_words, pv_words, score_words
from master.analysis.plan import Evaluation, Point
from master.analysis.report import GameReport, Settings, black_view
from master.records.csa import Ending, GameRecord, RecordedMove, Variation
from master.records.endings import FROM_RSSHOGI
from worker.clock.timecontrol import TimeControl
from worker.score import is_mate, mate_distance

_MARKS = str.maketrans("☗☖", "▲△")


def annotated(report: GameReport, settings: Settings) -> GameRecord:
    """The record with comments. What CSA lacks of it (the variations of a KIF) it has in KIF."""
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


def record_of(game: Game) -> GameRecord:
    """A record of another program, to be written again."""
    source, facts = game.record, game.record.metadata
    names = {"場所": facts.site, "持将棋": facts.impasse_rule, "備考": facts.comment, **facts.attributes}
    both = facts.time_control
    times = (facts.black_time_control or both, facts.white_time_control or both)
    return GameRecord(
        game_id=facts.event or "",
        names=(facts.black_player or "", facts.white_player or ""),
        start_sfen=game.start_sfen,
        time=None if None in times else (_time(times[0]), _time(times[1])),
        max_moves=facts.max_moves,
        started=facts.start_date,
        ended=facts.end_date,
        moves=[
            replace(_move(entry), consumed_ms=move.ms, score=move.own_score)
            for entry, move in zip(source.moves, game.moves, strict=True)
        ],
        ending=_ending(source.main_terminal, game.ending, game.winner),
        header={key: value for key, value in names.items() if value and key != "手合割"},
        comment=source.initial_comment or "",
        variations=tuple(_variations(source)),
    )


def _time(control: Any) -> TimeControl:
    return TimeControl(control.base_seconds * 1000, control.byoyomi_seconds * 1000, control.increment_seconds * 1000)


def _move(entry: Any) -> RecordedMove:
    """A move of rsshogi's. Its score is left out: rsshogi turns some of them round."""
    info = entry.engine_info
    pv = str(info.extras.get("csa_pv", "")).split() if info is not None else ()
    nodes = info.nodes if info is not None else None
    return RecordedMove(entry.move.to_usi(), entry.time_ms, None, tuple(pv), nodes, entry.comment or "")


def _ending(terminal: Any, kind: str, winner: int | None) -> Ending | None:
    if not kind:
        return None
    remark, ms = ("", None) if terminal is None else (terminal.comment or "", terminal.time_ms)
    word = kind if terminal is None or terminal.unknown_name is None else terminal.unknown_name
    return Ending(FROM_RSSHOGI.get(word, word), winner, remark=remark, consumed_ms=ms)


def _variations(source: Any) -> Iterator[Variation]:
    """The variations of rsshogi's tree in the order in which they follow the game in a KIF: the latest come first, and
    each is followed by its own."""
    later: list[tuple[int, int]] = []
    """Move number and first node of those that are still to come."""

    def line(node: int | None, ply: int) -> tuple[list[RecordedMove], Ending | None]:
        """The moves from a node on, along the first children."""
        moves: list[RecordedMove] = []
        while node is not None:
            terminal = source.node_terminal(node)
            if terminal is not None:
                result = terminal.result
                winner = 0 if result.is_black_win() else 1 if result.is_white_win() else None
                return moves, _ending(terminal, str(terminal.kind), winner)
            moves.append(_move(source.node_move(node)))
            children = source.children(node)
            ply += 1
            later.extend((ply, child) for child in reversed(children[1:]))
            node = children[0] if children else None
        return moves, None

    children = source.children(source.root_node_id())
    later.extend((1, child) for child in reversed(children[1:]))
    line(children[0] if children else None, 1)
    while later:
        ply, node = later.pop()
        yield Variation(ply, *line(node, ply))


def _judgement(report: GameReport, move: Judged, point: Point) -> Iterator[str]:
    """The words about a move that was not the best."""
    if move.before is None or not move.had_better:
        return
    last = before(report, point)
    best = move_words(point, move.before.best, last).translate(_MARKS)
    if move.quality is not Quality.GOOD:
        yield f"{move.quality.kanji} ({move.quality.word}): 勝率 -{100 * move.loss:.0f}%"
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
    if is_mate(score):
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
