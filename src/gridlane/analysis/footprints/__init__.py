"""Which bytes of global memory the threads of one launch touch, and whether two launches meet."""
