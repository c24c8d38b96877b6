"""Many nodes as one searcher: split, vote, share, survive. Knows Engine and Ray, not CSA."""
