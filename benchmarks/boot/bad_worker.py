"""An attack from a worker: with the fleet's token, run programs on any machine through Ray.

    python bad_worker.py RAY-ADDRESS MASTER-PID HOST-ADDRESS…

Runs on a worker, in its unit's environment. Prints a JSON object: for each host, the user as which programs run there,
and everything that they were able to do. It needs nothing of Gougi.
"""

from __future__ import annotations

import getpass
import glob
import json
import os
import sys
import urllib.request
from collections.abc import Callable

import ray

METADATA = "http://169.254.169.254/latest/api/token"


def try_all(master: int) -> dict[str, object]:
    """Try everything that a thief would; returns the successful attempts."""

    def metadata() -> object:
        asked = urllib.request.Request(METADATA, method="PUT", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"})
        with urllib.request.urlopen(asked, timeout=3) as answer:
            return answer.status

    def read(place: str) -> Callable[[], object]:
        return lambda: [open(path, "rb").read(1) for path in glob.glob(place) or [place]]

    def write(folder: str) -> Callable[[], object]:
        return lambda: open(os.path.join(folder, "bad"), "wb").write(b"bad")

    attempts: dict[str, Callable[[], object]] = {
        "metadata service": metadata,
        "password": read("/run/gougi/csa-password"),
        "credentials of the master": read("/run/credentials/gougi-master.service/csa-password"),
        "memory of the master": read(f"/proc/{master}/mem"),
        "environment of the master": read(f"/proc/{master}/environ"),
        "signal to the master": lambda: os.kill(master, 0),
        "records": write("/var/lib/gougi/records"),
        "books": write("/var/lib/gougi/books"),
        "compiled code": write("/var/cache/gougi"),
        "configuration": write("/etc/gougi"),
        "secrets": write("/run/gougi"),
        "program": write("/opt/gougi/venv/bin"),
    }
    done = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        done.append(name)
    return {"user": getpass.getuser(), "done": done}


def main(address: str, master: int, hosts: list[str]) -> None:
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    found = {}
    for host in hosts:
        task = ray.remote(num_cpus=0, resources={f"node:{host}": 0.001})(try_all)
        found[host] = ray.get(task.remote(master), timeout=60)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
