"""SFNN networks: products of an accumulator's halves, and one small network for each class of positions."""
