"""Survey of a Ray cluster: machines, slots for nodes, the players and their slots.

It queries the head (the GCS) without joining, so no raylet need run here. It runs in a separate process with a time
limit, because Ray's native code is slow, and ends its process when it cannot continue.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from cluster.api import FleetError
from cluster.drivers.ray_cluster import require_ray
from cluster.drivers.supervisor_actor import RESOURCE
from cluster.machine.processes import child_environment

LIMIT_S: Final = 20.0
"""Ray's import takes 1 to 2 s, longer on a busy machine; if nothing answers, it tries for 15 s."""
_SUPERVISOR: Final = "SupervisorActor"
_PLAYER: Final = "cluster.drivers.ray_process"
"""Text in the command line of a player's Ray process."""


def survey(address: str, limit_s: float = LIMIT_S) -> dict[str, Any]:
    """Ask the cluster at ``address`` (``host:port``, or ``auto``); see `facts` for the result. Blocks.

    The token comes from Ray's own variables.

    Raises:
        FleetError: Ray is not installed here; or the cluster does not answer or refuses us.
    """
    require_ray()
    environment = child_environment()
    environment.setdefault("RAY_AUTH_MODE", "token")
    words = [sys.executable, "-m", "cluster.drivers.ray_survey", address]
    try:
        done = subprocess.run(
            words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s
        )
    except subprocess.TimeoutExpired as error:
        raise FleetError(f"no Ray cluster at {address}: no answer within {limit_s:.0f} s") from error
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
    if any(words in done.stderr for words in ("Unauthenticated", "AuthenticationError")):
        raise FleetError(f"no Ray cluster at {address}: its token is not ours (RAY_AUTH_TOKEN)")
    last = next((line.strip() for line in reversed(done.stderr.splitlines()) if line.strip()), "without a word")
    raise FleetError(f"no Ray cluster at {address}: {last[:300]}")


def facts(
    nodes: Iterable[Mapping[str, Any]],
    actors: Iterable[Mapping[str, Any]],
    jobs: Iterable[Mapping[str, Any]],
    free: Mapping[str, Mapping[str, float]],
) -> dict[str, Any]:
    """Summarize Ray's tables, for JSON. Pure.

    Args:
        nodes: Ray's machines.
        actors: all of Ray's actors; ours are the supervisors, one for each node of a fleet.
        jobs: all connected programs; players are those of `cluster.drivers.ray_process`. ``StartTime`` in ms since
            1970.
        free: by Ray's id of a machine, its free resources.

    Returns:
        ``machines``: each with ``host``, ``address``, ``alive``, ``places`` (for nodes), ``taken`` and ``players`` (how
        many supervisors each player's job has there). ``players``: each with ``job``, ``address``, ``began`` (seconds
        since 1970), ``nodes`` (supervisors that have a machine) and ``waiting`` (those that wait for one).
    """
    playing = {job["JobID"]: job for job in jobs if not job["IsDead"] and _PLAYER in job["Entrypoint"]}
    supervisors = [actor for actor in actors if actor["ActorClassName"] == _SUPERVISOR and actor["State"] != "DEAD"]
    # A supervisor that waits for a slot may name a machine too: the one that was asked to start it.
    placed = [supervisor for supervisor in supervisors if supervisor["State"] == "ALIVE"]
    machines = []
    for node in nodes:
        here = [supervisor["JobID"] for supervisor in placed if supervisor["Address"]["NodeID"] == node["NodeID"]]
        places = int(node["Resources"].get(RESOURCE, 0))
        left = int(free.get(node["NodeID"], {}).get(RESOURCE, 0))
        machines.append(
            {
                "host": node["NodeManagerHostname"],
                "address": node["NodeManagerAddress"],
                "alive": bool(node["Alive"]),
                "places": places,
                "taken": places - left if node["Alive"] else 0,
                "players": {job: here.count(job) for job in sorted(set(here))},
            }
        )
    players = []
    for job_id, job in sorted(playing.items()):
        there = sum(supervisor["JobID"] == job_id for supervisor in placed)
        players.append(
            {
                "job": job_id,
                "address": job["DriverIPAddress"],
                "began": job["StartTime"] / 1000,
                "nodes": there,
                "waiting": sum(supervisor["JobID"] == job_id for supervisor in supervisors) - there,
            }
        )
    return {"machines": sorted(machines, key=lambda each: (not each["alive"], each["host"])), "players": players}


def main() -> None:
    """The process: queries the cluster named by its argument, and prints `facts` as a line of JSON."""
    import ray._private.services as services
    from ray._private.state import GlobalState
    from ray._raylet import GcsClientOptions  # type: ignore[attr-defined]

    # Pass the address as given: Ray replaces the loopback address by this machine's address, at which its head need not
    # listen.
    address = sys.argv[1] if sys.argv[1] != "auto" else services.canonicalize_bootstrap_address_or_die(None)
    state = GlobalState()
    state._initialize_global_state(
        GcsClientOptions.create(address, None, allow_cluster_id_nil=True, fetch_cluster_id_if_nil=False)
    )
    actors = state.actor_table(None, None, None).values()
    print(json.dumps(facts(state.node_table(), actors, state.job_table(), state.available_resources_per_node())))


if __name__ == "__main__":
    main()
