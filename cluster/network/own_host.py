"""Finds the name and the address by which this machine is known to its fleet."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit


def machine_name() -> str:
    """The name of this machine, as a `cluster.network.messages.Hello` gives it."""
    return socket.gethostname()[:128]


def own_host(master_url: str) -> str:
    """The address of this machine on its way to the master: the rest of the fleet can reach it there too.

    Raises:
        OSError: there is no route to the master.
    """
    parts = urlsplit(master_url)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Sends nothing: it only makes the system choose the route.
            probe.connect((parts.hostname or "", parts.port or 0))
        except OSError as error:
            raise OSError(f"no way to {master_url}: {error}") from error
        host: str = probe.getsockname()[0]
        return host
