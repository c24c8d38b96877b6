"""Messages between master and nodes, and the encrypted channel that carries them."""
