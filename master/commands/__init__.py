"""What the ``gougi`` command's words do. Each module imports what it runs only when it runs, so that help is quick."""
