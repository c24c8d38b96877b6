"""The whole fleet as one USI engine, for any GUI: ``gougi usi``.

`front` and `thinking` add to `worker.usi.front`, a pure state machine, what only a fleet has; `options` and `report`
are its parts. `driver` does the waiting, reading and writing.
"""
