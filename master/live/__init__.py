"""The live page: a game, its searches and the fleet in a browser.

`facts` turns events into plain values, and `page` folds them into the content of the page; both are pure. `feed` passes
the facts to `process`, a separate process with the web server (`server`); `sources` reads them from a game's log.
"""
