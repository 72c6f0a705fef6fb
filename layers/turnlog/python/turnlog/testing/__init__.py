"""What tests of Turnlog, of its users and of other stores are built from.

``contract`` needs pytest and hypothesis; the rest needs nothing beyond the library.
"""
