"""Networks of the SFNN family: products of an accumulator's halves, and a small network for each class of positions."""
