"""Rules that make one move of the nodes' answers."""
