"""The player: CSA protocol, clock, records, and the ``gougi`` command. Knows cluster's coordinator, not Ray's actors."""
