"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# A test's outcome must not depend on how busy the machine is.
settings.register_profile("gougi", deadline=None)
settings.load_profile("gougi")
