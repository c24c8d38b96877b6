"""The live page: a game, its searches and the fleet in a browser.

`facts` turns what happens into plain values, `page` folds them into what the page shows, both pure. `feed` hands the
facts to `process`, a process of its own with the web server (`server`); `logs` reads them from a game's log instead.
"""
