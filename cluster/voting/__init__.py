"""How the nodes' answers become one move."""
