"""``gougi match``: two players, many games. shogiarena is the referee; openings, statistics and records are ours."""
