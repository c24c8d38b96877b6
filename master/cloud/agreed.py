"""Names of a fleet that must be the same in terraform, units, scripts, docs and code. Pure data.

``tests/deploy/test_agreement.py`` compares everything on which they must agree, including ports, units and permissions.
"""

from __future__ import annotations

from typing import Final

RELEASED: Final = 10
"""Exit code of `gougi fleet watch` and `gougi fleet keep`: the machine or the fleet must end now."""
TAG: Final = "gougi-fleet"
"""The tag of everything that belongs to a fleet; its value is the fleet's name."""
STATE: Final = "state"
"""Part of the name of the bucket with terraform's state: ``NAME-state-ACCOUNT-REGION``."""
HOOK: Final = "drain"
"""The lifecycle hook that holds a worker which is about to be terminated."""
JOINED: Final = "joined"
"""The lifecycle hook that holds a new worker until it can search. Until then it does not count."""
ROLES: Final = ("head", "worker")
"""IAM roles and instance profiles: ``NAME-head``, ``NAME-worker``."""
BUDGET: Final = "month"
"""Part of the budget's name: ``NAME-month``."""
ENDPOINTS: Final = ("ssm", "ssmmessages")
"""AWS services that a worker reaches through an interface endpoint. S3 has a separate gateway."""
