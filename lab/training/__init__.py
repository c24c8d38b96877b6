"""Making networks: teacher games, training, generation 0 made by hand, and random ones for tests."""
