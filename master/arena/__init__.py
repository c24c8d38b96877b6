"""``gougi match``: two players, many games."""
