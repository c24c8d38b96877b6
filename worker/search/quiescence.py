"""Quiescence search: captures at the end of the tree, until the evaluation can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bits import toward_zero
from worker.nnue.evaluation import evaluate_score, prepare
from worker.score import INFINITE, MATE, MATE_BOUND, MAX_PLY, NO_SCORE
from worker.search import parameters as p
from worker.search import parts, tt
from worker.search.correction import corrected, correction_of
from worker.search.exchange import VALUE, exchange_at_least
from worker.search.mate1 import mate_in_one
from worker.search.node import (
    beyond_limit,
    checks_by,
    do_move,
    enter_node,
    game_end_score,
    note_checks,
    poll,
    update_pv,
)
from worker.search.picker import EVASIONS, QUIESCENCE, next_move, start_picker
from worker.search.state import OFFSET
from worker.shogi.makemove import is_legal, unmake
from worker.shogi.movegen import is_pseudo_legal
from worker.shogi.pieces import DROP_BIT


@jit()
def quiescence(pos: Any, nn: Any, th: Any, ply: int, alpha: int, beta: int, is_pv: bool) -> Any:
    """The score after captures, until the position is quiet (int64, `worker.score`), fail-soft within (alpha, beta).

    In check it searches the evasions that capture, and a quiet one if there is none.
    """
    if th.nodes >= th.next_poll:
        poll(th)
    if th.stopped != 0:
        return np.int64(0)
    at = OFFSET + ply
    if is_pv:
        th.pv_length[ply] = 0
    th.seldepth = max(th.seldepth, ply)
    checked = enter_node(pos, th, ply)
    ended = game_end_score(pos, th, ply)
    if ended != NO_SCORE:
        return ended
    if ply >= MAX_PLY - 2:
        return evaluate_score(pos, nn)

    # The table.
    key = pos.key
    if not checked:
        # Its memory is still being fetched (`do_move`): meanwhile do work that most nodes need.
        prepare(pos, nn)
    data = tt.probe(th, key)
    table_move = np.int64(0)
    table_score = np.int64(NO_SCORE)
    table_bound = np.int64(0)
    raw_eval = np.int64(NO_SCORE)
    was_pv = False
    if data != np.uint64(0):
        table_bound = tt.entry_bound(data)
        if table_bound != 0:
            table_score = tt.entry_score(data, ply)
            if beyond_limit(pos, th, ply, table_score):
                table_score, table_bound = np.int64(NO_SCORE), np.int64(0)
        was_pv = tt.entry_is_pv(data)
        # An entry without a search is treated like a fresh evaluation, below.
        known = table_score != NO_SCORE and tt.entry_depth(data) > tt.UNSEARCHED
        if not is_pv and known and (table_bound & (tt.LOWER if table_score >= beta else tt.UPPER)):
            return table_score
        table_move = tt.entry_move(pos, data)
        raw_eval = tt.entry_eval(data)
        if table_move != 0 and not is_pseudo_legal(pos, table_move):
            table_move = np.int64(0)

    # The evaluation without a further move.
    best: Any = np.int64(-INFINITE)
    base: Any = np.int64(-INFINITE)
    if checked:
        raw_eval = np.int64(NO_SCORE)
        th.static_eval[at] = th.static_eval[at - 2]
        start_picker(pos, th, ply, EVASIONS, table_move)
    else:
        if parts.QUIESCENCE_MATE and data == np.uint64(0) and pos.ply + 1 < th.draw_ply:
            mate = mate_in_one(pos, th.list_end[at - 1])
            if mate != 0:
                score = np.int64(MATE - 1) - ply
                if is_pv:
                    th.pv_length[ply + 1] = 0
                    update_pv(th, ply, mate)
                tt.store(th, key, ply, mate, score, raw_eval, np.int64(0), np.int64(tt.EXACT), np.int64(was_pv))
                return score
        if raw_eval == NO_SCORE:
            raw_eval = evaluate_score(pos, nn)
        best = corrected(raw_eval, correction_of(th, ply))
        th.static_eval[at] = best
        base = best + p.STAND_FUTILITY
        if abs(table_score) < MATE_BOUND and (table_bound & (tt.LOWER if table_score > best else tt.UPPER)):
            best = table_score
        if best >= beta:
            best = toward_zero(best + beta, np.int64(2)) if best < MATE_BOUND else best
            if data == np.uint64(0):
                tt.store(th, key, ply, np.int64(0), best, raw_eval, np.int64(tt.UNSEARCHED), tt.LOWER, np.int64(0))
            return best
        alpha = max(alpha, best)
        start_picker(pos, th, ply, QUIESCENCE, table_move)

    best_move = np.int64(0)
    number = np.int64(0)
    prior = pos.st_move[pos.ply - 1]
    prior_target = prior & 127 if prior != 0 else np.int64(-1)
    while True:
        move = next_move(pos, th, ply, np.int64(0), np.int64(0))
        if move == 0:
            break
        if not is_legal(pos, move, th.list_end[at]):
            continue
        if number == 0:
            note_checks(pos, th, ply)
        number += 1
        checks = checks_by(pos, th, ply, move)
        if best > -MATE_BOUND:
            captured = np.int64(0)
            if not (move & DROP_BIT):
                captured = np.int64(pos.board[move & 127]) & 15
            if base > -MATE_BOUND and (move & 127) != prior_target and not checks:
                if number > p.QUIET_MOVES:
                    continue
                reach = base + VALUE[captured]
                if reach <= alpha:
                    best = max(best, reach)
                    continue
                if not exchange_at_least(pos, move, alpha - base):
                    best = max(best, min(alpha, base))
                    continue
            if captured == 0 or not exchange_at_least(pos, move, np.int64(p.QUIESCENCE_SEE)):
                continue
        do_move(pos, th, ply, move, checks)
        score = -quiescence(pos, nn, th, ply + np.int64(1), -beta, -alpha, is_pv)
        unmake(pos)
        if th.stopped != 0:
            return np.int64(0)
        if score > best:
            best = score
            if score > alpha:
                best_move = move
                if is_pv:
                    update_pv(th, ply, move)
                if score >= beta:
                    break
                alpha = score
    if checked and number == 0:
        return np.int64(-MATE) + ply
    if best > beta and best < MATE_BOUND:
        best = toward_zero(best + beta, np.int64(2))
    tt.store(
        th, key, ply, best_move, best, raw_eval, np.int64(0), tt.LOWER if best >= beta else tt.UPPER, np.int64(was_pv)
    )
    return best
