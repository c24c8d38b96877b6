"""The practice server, and the game that `gougi play` plays on it."""
