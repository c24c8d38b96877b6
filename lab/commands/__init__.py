"""The laboratory's commands of ``gougi``, one file each, which `master.cli` finds by their entry points.

Each module delays its imports until it runs, so that help is quick.
"""
