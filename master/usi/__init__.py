"""The whole fleet as one USI engine, for any GUI: ``gougi usi``.

`front` adds the fleet's features to `worker.usi.front`, a pure state machine; `options` and `report` are its parts.
`driver` waits, reads and writes.
"""
