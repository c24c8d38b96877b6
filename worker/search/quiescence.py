"""Quiescence search: what is left to do where the tree ends, until the evaluation can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.nnue.evaluation import evaluate_score
from worker.score import INFINITE, MATE, MATE_BOUND, MAX_PLY, NO_SCORE
from worker.search.correction import corrected
from worker.search.exchange import exchange_at_least
from worker.search.mate1 import mate_in_one
from worker.search.node import do_move, game_end_score, poll, update_pv
from worker.search.parts import part
from worker.search.picker import EVASIONS, QUIESCENCE, next_move, start_picker
from worker.search.state import OFFSET
from worker.search.tt import EXACT, LOWER, UPPER, entry_bound, entry_eval, entry_move, entry_score, probe, store
from worker.search.values import VALUE
from worker.shogi.attacks import in_check, update_checks
from worker.shogi.makemove import is_legal, unmake
from worker.shogi.movegen import is_pseudo_legal
from worker.shogi.pieces import PAWN, PROMOTE_BIT

_CORRECTION = part("correction_history")
_MATE = part("quiescence_mate")


@jit()
def quiescence(pos: Any, nn: Any, th: Any, ply: int, alpha: int, beta: int, first: int) -> Any:
    """Captures and pawn promotions until the position is quiet; all evasions in check.

    ``first`` is 1 where the tree ends, 0 further on: only there a mate in one is looked for.
    """
    if th.nodes >= th.next_poll:
        poll(th)
    if th.stopped != 0:
        return np.int64(0)
    is_pv = beta - alpha > 1
    if is_pv:
        th.pv_length[ply] = 0
    th.seldepth = max(th.seldepth, ply)
    update_checks(pos)
    ended = game_end_score(pos, th, ply)
    if ended != NO_SCORE:
        return ended
    if ply >= MAX_PLY - 2:
        return evaluate_score(pos, nn)

    data = probe(th, pos.key)
    table_move = np.int64(0)
    raw_eval = np.int64(NO_SCORE)
    if data != np.uint64(0):
        score = entry_score(data, ply)
        bound = entry_bound(data)
        if not is_pv and (bound == EXACT or (bound == LOWER and score >= beta) or (bound == UPPER and score <= alpha)):
            return score
        table_move = entry_move(pos, data)
        raw_eval = entry_eval(data)

    checked = in_check(pos)
    if _MATE and first != 0 and not checked and data == np.uint64(0) and pos.ply + 1 < th.draw_ply:
        mate = mate_in_one(pos, th.list_end[OFFSET + ply - 1])
        if mate != 0:
            score = np.int64(MATE - 1) - ply
            if is_pv:
                th.pv_length[ply + 1] = 0
                update_pv(th, ply, mate)
            store(th, pos.key, ply, mate, score, np.int64(NO_SCORE), np.int64(0), np.int64(EXACT), np.int64(is_pv))
            return score
    old_alpha = alpha
    best = np.int64(-INFINITE)
    static_eval = np.int64(NO_SCORE)
    if checked:
        raw_eval = np.int64(NO_SCORE)
        if table_move != 0 and not is_pseudo_legal(pos, table_move):
            table_move = np.int64(0)
        start_picker(pos, th, ply, EVASIONS, table_move)
    else:
        if raw_eval == NO_SCORE:
            raw_eval = evaluate_score(pos, nn)
        static_eval = corrected(pos, th, ply, raw_eval) if _CORRECTION else raw_eval
        best = static_eval
        if best >= beta:
            if data == np.uint64(0):
                store(th, pos.key, ply, np.int64(0), best, raw_eval, np.int64(0), LOWER, np.int64(0))
            return best
        alpha = max(alpha, best)
        # Only what the quiescence list itself would hold: captures, and promotions of pawns.
        promotes = (table_move & PROMOTE_BIT) != 0 and ((table_move >> 16) & 15) == PAWN
        quiet = pos.board[table_move & 127] == 0 and not promotes
        if table_move != 0 and (quiet or not is_pseudo_legal(pos, table_move)):
            table_move = np.int64(0)
        start_picker(pos, th, ply, QUIESCENCE, table_move)

    best_move = np.int64(0)
    tried = 0
    while True:
        move = next_move(pos, th, ply, np.int64(0))
        if move == 0:
            break
        if not checked:
            if best > -MATE_BOUND:
                gain = VALUE[np.int64(pos.board[move & 127]) & 15]
                if (move & PROMOTE_BIT) == 0 and static_eval + gain + 180 <= alpha:
                    best = max(best, static_eval + gain + 180)
                    continue
                if not exchange_at_least(pos, move, np.int64(0)):
                    continue
        elif tried >= 2 and best > -MATE_BOUND and pos.board[move & 127] == 0:
            break
        if not is_legal(pos, move, th.list_end[OFFSET + ply]):
            continue
        tried += 1
        do_move(pos, th, ply, move)
        score = -quiescence(pos, nn, th, ply + np.int64(1), -beta, -alpha, np.int64(0))
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
    if checked and best == -INFINITE:
        return np.int64(-MATE) + ply
    bound = LOWER if best >= beta else (EXACT if is_pv and best > old_alpha else UPPER)
    store(th, pos.key, ply, best_move, best, raw_eval, np.int64(0), bound, np.int64(is_pv))
    return best
