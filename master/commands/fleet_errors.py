"""What goes wrong with a fleet, as a command tells it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from master.commands.common import BAD_INPUT, FAILED, CommandError


@contextlib.contextmanager
def told() -> Iterator[None]:
    """What goes wrong becomes the command's one clear message."""
    from master.csa.login import LoginError
    from master.fleet.archive import ArchiveError
    from master.fleet.aws import AwsError
    from master.fleet.costs import LedgerError
    from master.fleet.folder import FolderError
    from master.fleet.lock import FolderBusy
    from master.fleet.operator import FleetDown, NotReady, PriceUnknown
    from master.fleet.terraform import TerraformError

    try:
        yield
    except (FolderError, FleetDown, LoginError, PriceUnknown) as error:
        raise CommandError(str(error), BAD_INPUT) from error
    except (AwsError, ArchiveError, FolderBusy, LedgerError, NotReady, TerraformError) as error:
        raise CommandError(str(error), FAILED) from error
