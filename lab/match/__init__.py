"""``gougi match``: two players, many games. Other packages use its openings, adjudication and statistics too."""
