"""Post-game analysis: records in, every position searched by the fleet, the judgement of the moves out.

Pure: `game` (records to plain values), `plan` (which positions to search), `judgement` (what a move has lost),
`statistics` (rates by score band), `strength` (virtual games between players), `report` (all of it for one game),
`table`, `html` and `annotate` (how it is told). The thin parts: `session` drives a `cluster.api.Searcher`, `store`
keeps what was searched, `files` writes the reports.
"""
