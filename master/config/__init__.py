"""The configuration: one TOML file. Each key is also an environment variable and, if useful, an option.

An option comes before the environment, the environment before the file, the file before the default. The key
``hash_mb`` of the section ``[engine]`` is the variable ``GOUGI_ENGINE_HASH_MB``. The file is the one that ``--config``
or ``GOUGI_CONFIG`` names, else ``gougi.toml`` in the working folder, else ``~/.config/gougi/gougi.toml``, else none.
"""

from __future__ import annotations

from master.config.loading import ConfigError, changed, csa_password, effective, load_config, origins, sample
from master.config.sections import BookConfig, Config, CsaConfig, FleetConfig, MetricsConfig, NodeKindConfig

__all__ = [
    "BookConfig", "Config", "ConfigError", "CsaConfig", "FleetConfig", "MetricsConfig", "NodeKindConfig",
    "changed", "csa_password", "effective", "load_config", "origins", "sample",
]  # fmt: skip
