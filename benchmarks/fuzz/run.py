"""One target under libFuzzer: ``python -m benchmarks.fuzz.run TARGET [libFuzzer's options]``."""

from __future__ import annotations

import re
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import atheris

_ROOT = Path(__file__).parents[2]
_OF_JIT = re.compile(r"from worker\.[\w.]*\bjit\b")


def _compiled() -> Iterator[str]:
    """Modules with compiled code, found by their imports: numba cannot read them after atheris has changed them."""
    for path in (_ROOT / "worker").rglob("*.py"):
        if path.parent.name == "jit" or _OF_JIT.search(path.read_text(encoding="utf-8")):
            yield ".".join(path.relative_to(_ROOT).with_suffix("").parts)


# The branches of all that is not compiled guide the search for new inputs.
with atheris.instrument_imports(include=["cluster", "master", "worker"], exclude=list(_compiled())):
    from benchmarks.fuzz.__main__ import TARGETS


_MOST_BYTES = 16 << 30
"""Address space: an allocation by a length that nobody checked fails, which is a fault."""


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    name, *options = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    atheris.Setup([sys.argv[0], *options], TARGETS[name]().one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
