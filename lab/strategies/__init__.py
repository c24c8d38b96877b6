"""The laboratory: matches between virtual fleets, in virtual time and on one machine, exact and repeatable.

`settings` and `strategy` define the games. `games` plays one, `virtual` is a fleet. `records` stores the results,
`report` shows them. None of it reads a clock.
"""
