"""``gougi match``: two players, many games. Openings, adjudication and statistics serve the other rooms too."""
