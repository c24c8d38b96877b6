"""How networks come to be: generation 0, made by hand, and random ones for measurements."""
