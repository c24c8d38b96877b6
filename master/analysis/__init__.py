"""Post-game analysis: records in, every position searched by the fleet, the judgement of the moves out.

Pure: `game` (records to plain values), `plan` (which positions to search), `judgement` (the loss of a move),
`statistics` (rates by score band), `strength` (virtual games between players), `report` (all of it for one game),
`table`, `html` and `annotate` (presentation). The thin parts: `session` drives a `cluster.api.Searcher`, `store` keeps
finished searches, `files` writes the reports.
"""
