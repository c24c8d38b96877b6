"""Post-game analysis: records in, every position searched by the fleet, the judgement of the moves out.

Pure: `game` (records to plain values), `plan` (which positions to search), `judgement` (the loss of a move),
`strength` (the reference player that loses as much), `report` (all of it for one game), `table` and `html`
(presentation). The thin parts: `session` drives a `cluster.api.Searcher` and keeps finished searches, `files` writes
the reports.
"""
