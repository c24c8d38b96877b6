"""The fleet in a cloud: what the operator's ``gougi fleet`` does, and what runs beside the player on its machines."""
