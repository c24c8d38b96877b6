"""Logs: their files, and their view at a terminal; metrics of games."""
