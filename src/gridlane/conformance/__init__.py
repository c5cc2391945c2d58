"""One suite for every device: cases of each op, compared with the interpreter, and their matrix."""
