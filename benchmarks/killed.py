"""Kill `gougi fleet up`, `scale` and `down` at random moments, alone or with their terraform; the next command has to
repair the result, and at the end nothing may be left at AWS's stand-in.

    python -m benchmarks.killed [--kills 50] [--seed 1]

Real terraform with a small module (tests/terraform/small) and moto. Prints a line for each kill; exit code 1 if a
command failed, or something was left.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.master.cloud.killed import KilledOwner, kill_again_and_again, left
from tests.master.cloud.stand_in import moto, why_not


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if why := why_not():
        parser.error(why)
    with tempfile.TemporaryDirectory() as folder, moto() as url:
        try:
            kill_again_and_again(KilledOwner(Path(folder).resolve(), url), options.kills, options.seed, tell=print)
        except AssertionError as error:
            print(f"failed: {error}")
            return 1
        found = left(url)
    print(f"{options.kills} kills; left at the end: {', '.join(found) or 'nothing'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
