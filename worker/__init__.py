"""One node's searcher: rules, NNUE evaluation, alpha-beta search. Knows no Ray, no CSA, no asyncio."""
