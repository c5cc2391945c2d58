"""Arrays in device memory and in shared host memory, and their copies."""
