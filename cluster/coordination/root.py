"""The position that a fleet searches: its legal moves, moves that need no search, and the check of reported
variations."""

from __future__ import annotations

from collections.abc import Sequence

from cluster.api import SearchRequest
from cluster.network.messages import LONGEST_GAME, MAX_MULTIPV
from worker.careful import careful_move
from worker.score import MAX_EVAL
from worker.shogi import STARTPOS, MoveError, move_to_usi
from worker.shogi.position import Replay

_CACHE_SIZE = 4096


class Root:
    """The root of one search, history included.

    Args:
        replay: the replay shared with earlier roots, from which this one continues; None: the whole game is replayed.

    Raises (constructor):
        SfenError, MoveError: the request's position, one of its moves or one of its ``searchmoves`` is illegal; both
            are ValueErrors.
    """

    def __init__(self, request: SearchRequest, replay: Replay | None = None) -> None:
        self._position = (replay or Replay()).position(request.sfen, request.moves)
        legal = [move_to_usi(move) for move in self._position.legal_moves()]
        for move in request.searchmoves:
            self._position.parse_usi(move)
        self.legal: tuple[str, ...] = tuple(m for m in legal if not request.searchmoves or m in request.searchmoves)
        """Legal moves in USI, in the generator's order, from which to choose; empty: the side to move has lost."""
        self._rule = request.entering.code
        self.may_declare = bool(self.legal) and self._can_declare()
        own = request.draw_black if self._position.turn == 0 else request.draw_white
        self.draw_values: tuple[int, int] = (own, -own) if self._position.turn == 0 else (-own, own)
        """A draw's value by colour, anywhere in the tree."""
        self._max_moves = request.max_moves
        self._choice = frozenset(self.legal)
        self._checked: dict[tuple[str, ...], int] = {}
        self._replies: dict[tuple[str, ...], tuple[str, ...]] = {}

    def replies(self, path: Sequence[str]) -> tuple[str, ...]:
        """The legal moves after ``path``, which starts at the root.

        Empty if nothing is left to search (mate, repetition, a declaration, the move limit), or if ``path`` is illegal.
        """
        path = tuple(path)
        if not path:
            return self.legal
        found = self._replies.get(path)
        if found is None:
            if len(self._replies) >= _CACHE_SIZE:
                self._replies.clear()
            found = self._replies[path] = self._replies_after(path)
        return found

    def legal_part(self, pv: Sequence[str]) -> tuple[str, ...]:
        """The legal beginning of ``pv``, which starts at the root. Empty if its first move is not allowed.

        Engines report the same variation again and again, so the results are cached.
        """
        pv = tuple(pv)
        length = self._checked.get(pv)
        if length is None:
            if len(self._checked) >= _CACHE_SIZE:
                self._checked.clear()
            allowed = pv[:1] and pv[0] in self._choice
            length = self._checked[pv] = self._position.legal_length(pv) if allowed else 0
        return pv[:length]

    def careful(self) -> str:
        """An allowed move, chosen by material alone."""
        return move_to_usi(careful_move(self._position, self.legal))

    def _can_declare(self) -> bool:
        return self._position.can_declare(self._rule)

    def _replies_after(self, path: tuple[str, ...]) -> tuple[str, ...]:
        position, made = self._position, 0
        try:
            for move in path:
                position.push_usi(move)
                made += 1
                over = self._max_moves and position.move_number > self._max_moves
                if over or position.occurrences() > 1 or self._can_declare():
                    return ()
            return tuple(move_to_usi(move) for move in position.legal_moves())
        except MoveError:
            return ()
        finally:
            for _ in range(made):
                position.pop()


def check_request(request: SearchRequest, last_search_id: int) -> None:
    """Check everything that does not need the rules. ``last_search_id``: the id of the previous search.

    Raises:
        ValueError: a limit is impossible, or the search id does not rise.
    """
    if request.search_id <= last_search_id:
        raise ValueError(f"search id {request.search_id} must be above {last_search_id}")
    if request.hard_ms is None and request.soft_ms is not None:
        raise ValueError("a search with a soft time needs a hard deadline")
    for name in ("soft_ms", "hard_ms"):
        value = getattr(request, name)
        if value is not None and value < 0:
            raise ValueError(f"{name} is {value}, must not be negative")
    for name in ("nodes", "depth"):
        value = getattr(request, name)
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}, must be at least 1")
    for name, low, high in (
        ("multipv", 1, MAX_MULTIPV),
        ("max_moves", 0, LONGEST_GAME),
        ("draw_black", 1 - MAX_EVAL, MAX_EVAL - 1),
        ("draw_white", 1 - MAX_EVAL, MAX_EVAL - 1),
    ):
        if not low <= getattr(request, name) <= high:
            raise ValueError(f"{name} is {getattr(request, name)}, must be {low} to {high}")


def prepare_rules() -> None:
    """Compile the rules that a master uses, or load them from the cache, so that no search has to wait for that."""
    root = Root(SearchRequest(0, STARTPOS, ("7g7f",)))
    root.legal_part(("3c3d", "8h2b+", "3a2b"))
    root.careful()
