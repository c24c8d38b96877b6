"""Logs: their files, and what a terminal sees of them."""
