"""A vote that is learned: what it learns from (`benchmarks.votes.data`), and how (`benchmarks.votes.train`)."""
