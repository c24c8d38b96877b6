"""The compiled part of self-play: whole games in one call, and positions from games. `lab.training` drives it."""
