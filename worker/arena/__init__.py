"""What a match between two players needs beside a referee: balanced openings, and the statistics of its result."""
