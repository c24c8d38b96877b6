"""Table entries that nodes send each other."""
