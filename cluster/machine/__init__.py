"""What Gougi's processes leave and find on a machine: names, folders, status, process trees."""
