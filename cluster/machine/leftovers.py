"""The removal of what masters and fleets of this user left on this machine when they were killed."""

from __future__ import annotations

from contextlib import suppress

from cluster.machine.private_folder import remove_all_leftovers
from cluster.machine.status import forget_the_dead


def sweep() -> None:
    """Remove the folders and the status files whose processes are gone."""
    remove_all_leftovers()
    with suppress(OSError):
        forget_the_dead()
