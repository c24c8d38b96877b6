"""The commands of ``gougi``, one file each. Each module delays its imports until it runs, so that help is quick."""
