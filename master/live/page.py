"""The content of the page, computed from facts (`master.live.facts`). Pure: the facts carry the time.

A `Site` is one fleet and its games. A browser gets *sections* of it. Each is a value that JSON can hold, with a version
that rises when it changes: ``fleet``, ``log``, ``games`` and, for one game, ``game``, ``thoughts``, ``ended``.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from master.live.fleet import FleetPicture

Fact = dict[str, Any]

GAMES_KEPT: Final = 50
LOG_KEPT: Final = 200
ENDED_KEPT: Final = 8
"""Finished searches that every viewer gets. If both sides answer at once, as near a mate, a viewer may miss some moves;
it still gets the searches before them."""
GAME_SECTIONS: Final = ("game", "thoughts", "ended")

TOLD: Final = frozenset(
    {
        "node_lost",
        "node_joined",
        "node_ready",
        "node_starting",
        "node_leaves",
        "node_failed",
        "node_starves",
        "nodes_left_out",
        "ponder_hit",
        "fallback_lost",
        "fallback_failed",
        "dealt",
        "job_failed",
        "job_resent",
        "report_refused",
        "message_refused",
        "fleet_broken",
        "ray_starting",
        "ray_lost",
        "ray_failed",
        "supervisor_lost",
        "fork_server_lost",
    }
)
"""Fleet events that the list of events shows; `static/panels.js` has the words. The others are too frequent, or shown
elsewhere."""


class GamePage:
    """One game: its moves, its clocks, and each side's search before each move.

    Args:
        key: its name in addresses; unique within its site.
    """

    def __init__(self, key: str, began: Fact) -> None:
        self.key = key
        self.versions = dict.fromkeys(GAME_SECTIONS, 1)
        self.details: dict[int, list[Fact | None]] = {}
        """By ply (moves made before): the searches of black and white there."""
        self._head = {name: began[name] for name in ("id", "names", "mine", "start", "first", "times", "max_moves")}
        # An analysis searches for both sides in turn.
        self._head |= {"began": began["at"], "searches": began["mine"], "analysed": began.get("analysed", False)}
        self._moves: list[dict[str, Any]] = []
        self._clocks: dict[str, Any] = {**began["clocks"], "at": began["at"]}
        self._result: dict[str, Any] | None = None
        self._echo_ms: float | None = None
        self._thoughts: list[Fact | None] = [None, None]
        self._ended: deque[tuple[int, Fact]] = deque(maxlen=ENDED_KEPT)
        """The last finished searches, with their sides."""
        self._ponder = {"turns": 0, "hits": 0, "pondered_ms": 0, "fleet_ms": 0}

    @property
    def plies(self) -> int:
        """Moves made, including those of the start position."""
        return int(self._moves[-1]["ply"]) if self._moves else int(self._head["first"])

    def take(self, fact: Fact) -> None:
        match fact["fact"]:
            case "thinking":
                self._begin(fact)
            case "progress" | "decision":
                self._think(fact)
            case "move":
                self._move(fact)
            case "echo":
                self._echo_ms = fact["ms"]  # sent with the next change
                return
            case "clocks":
                self._clocks = {**fact["clocks"], "at": fact["at"]}
                self._head["searches"] = fact.get("searches", self._head["searches"])
                self.versions["game"] += 1
            case "ended":
                self._result = {name: fact[name] for name in ("conclusion", "reason", "winner", "plies", "record")}
                self._clocks["stopped_at"] = fact["at"]
                self.versions["game"] += 1

    def section(self, name: str) -> dict[str, Any]:
        if name == "thoughts":
            return {"thoughts": self._thoughts}
        if name == "ended":
            return {"ended": list(self._ended)}
        return {
            **self._head,
            "key": self.key,
            "moves": self._moves,
            "clocks": self._clocks,
            "result": self._result,
            "echo_ms": self._echo_ms,
            "ponder": self._ponder,
        }

    def summary(self) -> dict[str, Any]:
        """The game's row in the list of games."""
        head = {name: self._head[name] for name in ("id", "names", "mine", "began")}
        return {**head, "key": self.key, "plies": self.plies, "result": self._result}

    def _begin(self, fact: Fact) -> None:
        colour, known = fact["colour"], fact["known"]
        thought = {name: fact[name] for name in ("ply", "soft_ms", "hard_ms", "known", "at")}
        self._keep(colour, {**thought, "began": fact["at"], "done": False, "fleet": [], "heard": {}})
        if colour == self._head["searches"]:
            self._ponder["turns"] += 1
            if known is not None:
                self._ponder["hits"] += 1
                self._ponder["pondered_ms"] += known["pondered_ms"]
                self._ponder["fleet_ms"] += known["fleet_ms"]
            self.versions["game"] += 1

    def _think(self, fact: Fact) -> None:
        colour = fact["colour"]
        before = self._thoughts[colour]
        if before is None or before["done"]:
            began = fact["at"] - fact["ms"] / 1000
            before = {"ply": self.plies, "began": began, "known": None, "soft_ms": None, "hard_ms": None, "heard": {}}
        new = {name: value for name, value in fact.items() if name not in ("fact", "colour")}
        done = fact["fact"] == "decision"
        unheard = done and not before.get("fleet")  # a log has no nodes before this, so their report times are unknown
        self._keep(colour, {**before, **new, "heard": {} if unheard else _heard(before, fact), "done": done})

    def _keep(self, colour: int, thought: Fact) -> None:
        self._thoughts[colour] = thought
        if thought["done"]:
            self._ended.append((colour, thought))
            self.versions["ended"] += 1
        self.details.setdefault(thought["ply"], [None, None])[colour] = thought
        self.versions["thoughts"] += 1

    def _move(self, fact: Fact) -> None:
        thought = (self.details.get(fact["ply"] - 1) or [None, None])[fact["colour"]]
        move = {name: fact[name] for name in ("ply", "colour", "mine", "usi", "csa", "ms", "score", "depth", "nodes")}
        move |= {"book": fact["book"], "left_ms": fact["clocks"]["left_ms"], "at": fact["at"]}
        if move["score"] is None and thought is not None and thought.get("score") is not None:
            move |= {name: thought[name] for name in ("score", "depth", "nodes")}  # the opponent's, if it is ours too
        if thought is not None:
            move |= {name: thought.get(name) for name in ("source", "agreement")}
        self._moves.append(move)
        self._clocks = {**fact["clocks"], "at": fact["at"]}
        self.versions["game"] += 1


class Site:
    """A fleet and its games.

    Args:
        head: the constant part, ``command`` and ``version``, for the page's title.
    """

    def __init__(self, head: dict[str, Any]) -> None:
        self.head = head
        self.games: dict[str, GamePage] = {}
        """By key, in the order in which they began."""
        self.fleet = FleetPicture()
        self._log: deque[dict[str, Any]] = deque(maxlen=LOG_KEPT)
        self._entries = 0
        self._log_version = self._games_version = 1
        self._numbers = 0
        self._status: dict[str, Any] = {"status": "starting"}

    @property
    def latest(self) -> GamePage | None:
        return next(reversed(self.games.values()), None)

    def take(self, fact: Fact) -> None:
        """Take any fact.

        Raises:
            KeyError, TypeError: it is not a fact of this version.
        """
        kind, at = fact["fact"], fact["at"]
        game = self.latest
        match kind:
            case "began":
                self._begin(fact)
            case "waiting" | "found":
                self._status = {"status": kind, **{name: fact[name] for name in fact if name not in ("fact", "at")}}
                self._games_version += 1
            case "fleet":
                name, fields = fact["name"], fact["fields"]
                self.fleet.on_event(name, fields, at)
                if name in TOLD:
                    self._note({"at": at, "name": name, "fields": fields})
            case "status":
                self.fleet.on_status(fact["masters"], at)
            case "note":
                self._note({"at": at, "name": "note", "fields": {"text": fact["text"]}})
            case _ if game is not None:
                game.take(fact)
                if kind == "ended":
                    self._games_version += 1
        if kind in ("progress", "decision") and game is not None and fact["colour"] == game.section("game")["searches"]:
            self.fleet.on_search(fact, at)

    def key(self, name: str) -> str | None:
        """The key of a game that a viewer names; ``latest`` is the newest game. None: there is none."""
        if name != "latest":
            return name if name in self.games else None
        return None if self.latest is None else self.latest.key

    def versions(self, key: str | None) -> dict[str, int]:
        """By section, for a viewer of the game ``key``."""
        found = {"fleet": self.fleet.version, "log": self._log_version, "games": self._games_version}
        return found | (self.games[key].versions if key in self.games else {})

    def section(self, name: str, key: str | None) -> dict[str, Any]:
        """One of the sections that `versions` names."""
        match name:
            case "fleet":
                return self.fleet.section()
            case "log":
                return {"entries": list(self._log)}
            case "games":
                return {"games": [game.summary() for game in self.games.values()], **self._status}
            case _:
                assert key is not None
                return self.games[key].section(name)

    def details(self, key: str, ply: int) -> list[Fact | None] | None:
        """The searches of black and white after ``ply`` moves of a game; None: nothing is known."""
        return self.games[key].details.get(ply)

    def _begin(self, fact: Fact) -> None:
        self._numbers += 1
        key = str(self._numbers)
        self.games[key] = GamePage(key, fact)
        while len(self.games) > GAMES_KEPT:
            del self.games[next(iter(self.games))]
        self._status = {"status": "playing"}
        self._games_version += 1

    def _note(self, entry: dict[str, Any]) -> None:
        self._entries += 1
        self._log.append({"number": self._entries, **entry})
        self._log_version += 1


def _heard(before: Fact, fact: Fact) -> dict[str, float]:
    """By node, the time at which its report last changed."""
    was = {view["node"]: view for view in before.get("fleet") or ()}
    heard: dict[str, float] = before["heard"]
    found: dict[str, float] = {}
    for view in fact["fleet"]:
        node, old = view["node"], was.get(view["node"])
        same = old is not None and all(old[name] == view[name] for name in ("nodes", "depth", "score", "job", "pv"))
        found[node] = heard[node] if same and node in heard else float(fact["at"])
    return found


class Cursor:
    """One viewer's state: it gets the newest version of each section, however many it has missed.

    Args:
        name: the viewed game; ``latest`` follows the games.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._key: str | None = None
        self._seen: dict[str, int] = {}

    def next(self, site: Site) -> tuple[str | None, list[str]]:
        """The game's key, and the sections that are new to the viewer; they then count as sent."""
        key = site.key(self._name)
        if key != self._key:
            self._key = key
            self._seen = {}
        versions = site.versions(key)
        new = [name for name, version in versions.items() if self._seen.get(name) != version]
        self._seen = versions
        return key, new

    def lags(self, site: Site) -> bool:
        """Whether there is anything that the viewer has not received."""
        key = site.key(self._name)
        return key != self._key or site.versions(key) != self._seen
