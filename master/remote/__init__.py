"""An engine for a GUI on another machine: ``gougi usi --listen``, and the GUI's side, ``--connect``.

`master.remote.client` is the GUI's side, in one self-contained file. `master.remote.host` is the engine's side, and
`master.remote.listener` has its connections and its engine. docs/reference/remote.md describes the protocol.
"""
