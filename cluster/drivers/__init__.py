"""Drivers that carry the coordinator's instructions out: over Ray, in this process; and whatever keeps nodes alive."""
