"""Another user of this machine, for tests of that user's rights."""

from __future__ import annotations

import os
from typing import Final

import pytest

NOBODY: Final = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user, or be one")
