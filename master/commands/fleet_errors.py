"""Errors of a fleet as messages of a command."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from master.commands.common import BAD_INPUT, FAILED, CommandError


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Turn errors of a fleet into the command's one clear message."""
    from master.cloud.archive import ArchiveError
    from master.cloud.aws import AwsError
    from master.cloud.costs import LedgerError
    from master.cloud.folder import FolderError
    from master.cloud.lock import FolderBusy
    from master.cloud.operator import FleetDown, NotReady, PriceUnknown
    from master.cloud.terraform import TerraformError
    from master.csa.login import LoginError

    try:
        yield
    except (FolderError, FleetDown, LoginError, PriceUnknown) as error:
        raise CommandError(str(error), BAD_INPUT) from error
    except (AwsError, ArchiveError, FolderBusy, LedgerError, NotReady, TerraformError) as error:
        raise CommandError(str(error), FAILED) from error
