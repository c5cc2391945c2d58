"""The host device in C: its thread pool, the queues of streams, and memory. It knows nothing of
Python but a table of functions."""

INTERFACE = 8
"""As in queue.h: a compiled module of other sources is refused."""
