"""The view of a game in the terminal. `model` collects the events, `screen` and `lines` show them."""
