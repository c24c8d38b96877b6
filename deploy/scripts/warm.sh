#!/usr/bin/env bash
# Compile the searcher for this machine's CPU, once, before several processes want it.
set -euo pipefail
exec "${GOUGI:-/opt/gougi/venv/bin/gougi}" warm
