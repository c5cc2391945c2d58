"""The names of ``cuda.compute``: checks of a caller's arguments, objects, temporary memory."""
