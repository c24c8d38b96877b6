"""Networks that others publish: a catalogue, the download, and the user's folder of nets."""
