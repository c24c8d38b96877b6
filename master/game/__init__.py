"""Drivers of the player's state machine: connection, loop, thread, journal and replay."""
