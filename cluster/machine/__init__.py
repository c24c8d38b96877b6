"""Gougi's processes on one machine: names, folders, status, process trees."""
