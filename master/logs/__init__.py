"""Logs: their files, and what a terminal sees of them; metrics of games, and where the master serves all of its own."""
