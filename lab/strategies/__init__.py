"""The laboratory: matches between virtual fleets, in virtual time and on one machine, exact and repeatable.

`settings` and `strategies` say what is played, `schedule` in which order; `games` plays one game, `processes` many;
`folder` keeps them; `report` and `plot` show the results. None of it reads a clock.
"""
