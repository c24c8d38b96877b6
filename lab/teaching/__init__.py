"""Teacher games over processes of this machine, or over a fleet: shards that depend on no process and on no order."""
