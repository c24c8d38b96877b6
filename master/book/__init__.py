"""The player's books: YaneuraOu DB files, a book made from game records, and the SQLite book that learns.

`service` is the face of all of it for a game; `study` searches again what a lost game leaves, between the games.
"""
