"""The compiled part of self-play: whole games in one call, and positions out of games. `lab.training` drives it."""
