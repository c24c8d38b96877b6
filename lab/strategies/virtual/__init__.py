"""A fleet in virtual time: deterministic, without processes or clocks."""
