"""The synchronous surface, made from the asynchronous one: ``python .ci/unasync.py write``."""
