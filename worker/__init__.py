"""One node's searcher: rules, NNUE evaluation, alpha-beta search. Knows no Ray, no CSA, no asyncio."""

VERSION = "0.1.0"
"""The version of Gougi; pyproject.toml reads it here."""
