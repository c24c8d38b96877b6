"""The search of one position by a fleet: a pure state machine and its data."""
