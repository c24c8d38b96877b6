"""The USI protocol: our engine's side, and other engines as a part of ours."""
