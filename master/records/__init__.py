"""Game records: CSA, KIF and their notation."""
