"""The split tree: dealing it to the nodes and dealing it again."""
