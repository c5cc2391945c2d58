"""The host device in C: its thread pool, and the queues of streams. It knows nothing of Python but
a table of functions."""

INTERFACE = 6
"""As in queue_module.c: a compiled module of other sources is not used."""
