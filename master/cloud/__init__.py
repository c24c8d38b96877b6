"""The fleet in a cloud: the operator's ``gougi fleet``, and the services next to the player on its machines."""
