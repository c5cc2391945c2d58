"""The host device in C: its thread pool. It knows nothing of Python but a table of functions."""
