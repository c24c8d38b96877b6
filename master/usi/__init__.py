"""The whole fleet as one USI engine, for any GUI: ``gougi usi``.

`front` and `thinking` add the fleet's features to `worker.usi.front`, a pure state machine; `options` and `report` are
their parts. `driver` waits, reads and writes.
"""
