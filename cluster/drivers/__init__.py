"""Drivers that carry the coordinator's instructions out, over Ray or in this process; and the parts that keep nodes
alive."""
