"""How networks come to be: teacher games, training, generation 0 made by hand, and random ones for tests."""
