"""Whether terraform, units, scripts, docs and code agree with `tests.deploy.agreement.table`."""

from __future__ import annotations

from pathlib import Path

from tests.deploy.agreement import names, ports, rights, units
from tests.deploy.agreement.tree import Tree


def faults(root: Path) -> list[str]:
    """Describe each disagreement in a checkout (or a copy of the files in `tree.COPIED`) in a line, the file first."""
    tree = Tree(root)
    return [*units.faults(tree), *ports.faults(tree), *rights.faults(tree), *names.faults(tree)]
