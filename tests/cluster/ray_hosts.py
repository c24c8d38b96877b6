"""A Ray cluster of several hosts on one machine, for the tests: prints its address, adds a host for each line it reads.

Its token comes from ``RAY_AUTH_TOKEN``. It ends with its standard input.
"""

from __future__ import annotations

import os
import sys

os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from ray.cluster_utils import Cluster


def main() -> None:
    host = {"num_cpus": 0, "resources": {"searcher": 1}, "object_store_memory": 80 * 1024 * 1024}
    cluster = Cluster(initialize_head=True, head_node_args={**host, "include_dashboard": False})
    print(cluster.address, flush=True)
    for _ in sys.stdin:
        cluster.add_node(**host)
    cluster.shutdown()


if __name__ == "__main__":
    main()
