"""Settings with which real terraform runs in tests: AWS's provider out of a folder, and no needless work.

The provider is a program of 700 MB. At each of its runs terraform computes a checksum of it, and collects garbage while
it reads the provider's schema: half of the processor time of a run that plans nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

UNHURRIED: Final = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
"""Go's environment: garbage is collected only if memory runs short."""


def settings(mirror: Path) -> str:
    """Return the text of terraform's configuration file: ``init`` installs from the mirror (``terraform providers
    mirror``), with its checksums; later runs use the provider in place."""
    programs = list(mirror.glob("*/hashicorp/aws/*/*/terraform-provider-aws*"))
    # Terraform wants these before all others. A mirror may hold an archive instead, or several versions.
    taken = f'  dev_overrides {{\n    "hashicorp/aws" = "{programs[0].parent}"\n  }}\n' if len(programs) == 1 else ""
    return f'provider_installation {{\n{taken}  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n'
