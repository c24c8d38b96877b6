"""Search parameters tuned by games (SPSA), the games spread over a fleet: `gougi tune`."""
