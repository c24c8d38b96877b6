"""Logs: their files, and their view at a terminal; metrics of games, and the server of the master's metrics."""
