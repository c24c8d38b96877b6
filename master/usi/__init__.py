"""The whole fleet as one USI engine, for any GUI: ``gougi usi``.

`front` is a pure state machine: lines of the GUI and events of the search in, lines and instructions out; `options`,
`timing` and `report` are its parts. `driver` does the waiting, reading and writing.
"""
