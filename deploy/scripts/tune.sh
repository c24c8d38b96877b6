#!/usr/bin/env bash
# At each boot, as root: kernel settings for the search.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Huge pages: numpy asks for them (madvise) for large arrays such as the transposition table. Random reads of 512 MB take
# 15 % less time with them (docs/notebook/fleet.md). "always" would also give them to programs that gain nothing.
huge=/sys/kernel/mm/transparent_hugepage
if [ -w "$huge/enabled" ]; then
  echo madvise >"$huge/enabled"
  echo madvise >"$huge/defrag" # at once, for programs that ask for them
else
  note "no transparent huge pages here: the search is a little slower"
fi
