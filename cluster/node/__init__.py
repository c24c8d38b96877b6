"""A node: its process, the engine's runner, the fork server that makes it, and how it leaves."""
