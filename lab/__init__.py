"""The laboratory, above the player: matches, strategies of a fleet, tuning, and the making of networks."""
