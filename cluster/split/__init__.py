"""The root's tree: shared out, and dealt again."""
