"""How a fleet searches one position: a pure state machine, and all that it knows."""
