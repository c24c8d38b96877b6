"""The view of a game in the terminal. `model` collects what happens, `screen` and `lines` show it."""
