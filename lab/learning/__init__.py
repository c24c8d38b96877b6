"""The loop that makes networks: teacher games, training, a gate of games, promotion; generation by generation."""
