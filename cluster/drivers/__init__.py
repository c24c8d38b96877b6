"""Drivers that carry out the coordinator's instructions, over Ray or in this process; and the parts that keep nodes
alive."""
