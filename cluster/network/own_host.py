"""Finds the name and the address by which this machine is known to its fleet."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit


def machine_name() -> str:
    """The name of this machine, as a `cluster.network.messages.Hello` gives it."""
    return socket.gethostname()[:128]


def own_host(master_url: str) -> str:
    """The address of this machine by which it reaches the master: so the others of the fleet can reach it too.

    Raises:
        OSError: there is no way to the master.
    """
    parts = urlsplit(master_url)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Sends nothing: it only has the system choose the way.
            probe.connect((parts.hostname or "", parts.port or 0))
        except OSError as error:
            raise OSError(f"no way to {master_url}: {error}") from error
        host: str = probe.getsockname()[0]
        return host
