"""The laboratory in real time: real node processes on a real clock, pinned to cores.

`cores` says who plays on which cores, `figures` what is kept of a game besides its result, and `report` tells it, all
three pure; `machine` looks at the machine, `side` is a player's process, `games` plays one game and `slots` many at a
time.
"""
