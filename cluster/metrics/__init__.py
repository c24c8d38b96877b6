"""Metrics of a fleet and of its nodes for Prometheus."""
