"""A node: its process, the engine's runner, who makes it, and how it leaves."""
