"""Algorithms on sequences, counts and streams: no checks of a caller's arguments."""
