"""The laboratory's commands of ``gougi``, one file each, which `master.cli` finds by their entry points.

Each module imports what it runs only when it runs, so that help is quick.
"""
