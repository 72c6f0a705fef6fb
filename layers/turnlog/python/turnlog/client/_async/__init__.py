"""The asynchronous surface, and the source of the synchronous one: ``python .ci/unasync.py write``."""
