"""A fleet as the page shows it, built from its events and searches. Pure."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from cluster.machine.status import by_number

_OUTSIDE: Final = frozenset({"", "fallback", "local"})
"""Names that are not nodes of the fleet: the master's own engine, and a searcher without a fleet (the opponent of an
embedded game, whose events are in the same log)."""
_LOSSES_KEPT: Final = 50
_SPEEDS_KEPT: Final = 240


class FleetPicture:
    """The state of a fleet, summed up from its events; times are seconds since 1970."""

    def __init__(self) -> None:
        self.version = 1
        self._nodes: dict[str, dict[str, Any]] = {}
        self._ray: dict[str, Any] = {"state": "", "address": ""}
        self._losses: deque[dict[str, Any]] = deque(maxlen=_LOSSES_KEPT)
        self._lost = self._deals = 0
        self._sharing: dict[str, Any] | None = None
        self._shared: dict[str, Any] | None = None
        self._totals = {"bytes_out_per_s": 0, "entries_in": 0, "searches": 0}
        self._pondering: dict[str, Any] | None = None
        self._ponder = {"hits": 0, "misses": 0}
        self._speeds: deque[list[float]] = deque(maxlen=_SPEEDS_KEPT)
        """Time and nodes a second of each search, of all nodes together."""
        self._searching = False

    def on_event(self, name: str, fields: dict[str, Any], at: float) -> None:
        """One of the fleet's events."""
        node = str(fields.get("node", ""))
        match name:
            case "ray_starting":
                self._ray = {"state": "starting", "address": fields.get("address", "")}
            case "ray_started":
                self._ray = {"state": "running", "address": fields.get("address", "")}
            case "ray_lost" | "ray_failed":
                self._ray["state"] = "lost"
            case "node_starting" | "node_ready" | "node_joined" | "node_lost" | "node_leaves" | "node_failed":
                if node not in _OUTSIDE:
                    self._life(name, node, fields, at)
            case "sharing":
                self._sharing = {"at": at, **fields}
            case "shared":
                self._shared = {"at": at, **fields}
                self._totals["searches"] += 1
                self._totals["entries_in"] += int(fields.get("entries_in", 0))
            case "pondering":
                self._pondering = {"at": at, "replies": fields.get("replies")}
            case "ponder_hit":
                self._ponder["hits"] += 1
                self._pondering = None
            case "ponder_miss":
                self._ponder["misses"] += 1
                self._pondering = None
            case "dealt":
                self._deals += 1
            case _:
                return
        self.version += 1

    def on_search(self, fact: dict[str, Any], at: float) -> None:
        """The fact of a progress or a decision of the fleet."""
        self._searching = fact["fact"] == "progress"
        for view in fact["fleet"]:
            if view["node"] not in _OUTSIDE:
                node = self._node(view["node"], at)
                node |= {"job": view["job"] if self._searching else "", "hashfull": view["hashfull"]}
                node |= {"depth": view["depth"], "nps": view["nps"], "speed": view["speed"]}
                if (node["state"] != "lost") != view["alive"]:
                    node |= {"state": "ready" if view["alive"] else "lost", "since": at}
                elif node["state"] != "lost":
                    node["state"] = "ready"
        if not self._searching and fact["fleet"]:
            self._speeds.append([round(at, 1), sum(view["nps"] for view in fact["fleet"] if view["alive"])])
        self.version += 1

    def on_status(self, masters: list[dict[str, Any]], at: float) -> None:
        """Take the state files of this machine's masters (`cluster.machine.status`) as the fleet."""
        seen = set()
        for facts in masters:
            self._ray = {"state": str(facts["ray"]), "address": str(facts["address"])}
            for said in facts["nodes"]:
                name = said["node"] if len(masters) == 1 else f"{facts['name']} {facts['pid']} {said['node']}"
                seen.add(name)
                node = self._node(name, at)
                if node["state"] != said["state"]:
                    node["since"] = facts["began"] if not node["state"] else at
                node |= {key: said[key] for key in ("state", "host", "pid", "engine", "job", "depth", "nps", "lost")}
        for name in self._nodes.keys() - seen:
            del self._nodes[name]
        self._searching = any(facts["searching"] for facts in masters)
        self._lost = sum(facts["losses"] for facts in masters)
        losses = [loss for facts in masters for loss in facts["last_losses"]]
        self._losses = deque(sorted(losses, key=lambda loss: float(loss["at"])), maxlen=_LOSSES_KEPT)
        self.version += 1

    def section(self) -> dict[str, Any]:
        nodes = [{"node": name, **self._nodes[name]} for name in sorted(self._nodes, key=by_number)]
        return {
            "ray": self._ray,
            "searching": self._searching,
            "nodes": nodes,
            "nps": sum(node["nps"] for node in nodes if node["state"] == "ready"),
            "losses": self._lost,
            "last_losses": list(self._losses),
            "deals": self._deals,
            "sharing": self._sharing,
            "shared": self._shared,
            "totals": self._totals,
            "pondering": self._pondering,
            "ponder": self._ponder,
            "speeds": list(self._speeds),
        }

    def _life(self, name: str, node: str, fields: dict[str, Any], at: float) -> None:
        """A node comes or goes."""
        state = self._node(node, at)
        match name:
            case "node_starting":
                state |= {"state": "starting", "since": at}
            case "node_ready":
                state |= {key: fields.get(key, "") for key in ("host", "pid", "engine")}
            case "node_joined":
                state |= {"state": "ready", "since": at}
            case "node_lost":
                state |= {"state": "lost", "since": at, "job": "", "lost": state["lost"] + 1}
                self._lost += 1
                self._losses.append({"at": at, "node": node, "why": str(fields.get("reason", ""))})
            case "node_leaves":
                state |= {"state": "leaving", "since": at}
            case "node_failed":
                state |= {"state": "failed", "since": at}

    def _node(self, name: str, at: float) -> dict[str, Any]:
        empty = {"state": "", "since": at, "host": "", "pid": 0, "engine": "", "job": "", "depth": 0, "nps": 0}
        return self._nodes.setdefault(name, empty | {"lost": 0, "hashfull": 0, "speed": 1.0})
