"""The player: CSA protocol, clock, records and the ``gougi`` command. Knows the coordinator, not Ray's actors."""
