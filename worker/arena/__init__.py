"""Balanced openings, adjudication by score, and the statistics of a result: what matches and the lab have in common."""
