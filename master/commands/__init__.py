"""The commands of ``gougi``, one file each. Each module imports what it runs only when it runs, so that help is
quick."""
