"""Names of a fleet that terraform, units, scripts and docs have to say as the code does. Pure data.

``tests/deploy/test_agreement.py`` compares all that these have to agree on, ports, units and permissions among it.
"""

from __future__ import annotations

from typing import Final

RELEASED: Final = 10
"""Exit code of `gougi fleet watch` and `gougi fleet keep`: the machine, or the fleet, is to end now."""
TAG: Final = "gougi-fleet"
"""Everything of a fleet has it, with the fleet's name."""
STATE: Final = "state"
"""Of the bucket of terraform's state: ``NAME-state-ACCOUNT-REGION``."""
HOOK: Final = "drain"
"""The lifecycle hook that holds a worker which is to go."""
JOINED: Final = "joined"
"""The lifecycle hook that holds a new worker until it can search: until then it does not count."""
ROLES: Final = ("head", "worker")
"""IAM roles and instance profiles: ``NAME-head``, ``NAME-worker``."""
BUDGET: Final = "month"
"""``NAME-month``."""
ENDPOINTS: Final = ("ssm", "ssmmessages")
"""AWS's services that a worker reaches through an interface endpoint; S3 has a gateway of its own."""
