"""An engine for a GUI that is elsewhere: ``gougi usi --listen``, and ``--connect``, the GUI's side of it.

`master.remote.client` is the GUI's side, in one file that needs nothing else; `master.remote.host` the engine's side;
`master.remote.listener` its connections and its engine. docs/reference/remote.md has the lines that go between them.
"""
