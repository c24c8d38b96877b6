"""How the root's tree is shared out, and dealt again."""
