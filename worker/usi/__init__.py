"""The USI protocol: our side of it, for the single engine and the fleet, and other engines as parts of ours."""
