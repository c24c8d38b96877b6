"""How networks come to be: the hand-made generation 0."""
