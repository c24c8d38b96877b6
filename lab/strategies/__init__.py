"""The laboratory: matches between virtual fleets, in virtual time and on one machine, exact and repeatable.

`settings` and `strategies` define the games, `schedule` their order; `games` plays one game, `processes` many; `folder`
stores them; `report` and `plot` show the results. None of it reads a clock.
"""
