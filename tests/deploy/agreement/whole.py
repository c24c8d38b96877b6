"""Whether terraform, units, scripts, docs and code agree with `master.cloud.agreed`."""

from __future__ import annotations

from pathlib import Path

from tests.deploy.agreement import names, ports, rights, units
from tests.deploy.agreement.tree import Tree


def faults(root: Path) -> list[str]:
    """What does not agree in a checkout (or a copy of what `tree.COPIED` names): a line each, the file first."""
    tree = Tree(root)
    return [*units.faults(tree), *ports.faults(tree), *rights.faults(tree), *names.faults(tree)]
