"""Traces of Gougi's processes on a machine: names, folders, status, process trees."""
