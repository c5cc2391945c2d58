"""What a launch promises to code that was made for compact ones (``Target.compact``).

numba's integers are 64 bits wide, and so are its indices. With these bounds a pass can show that
most of them fit in 32, in which GPUs count. A launch beyond them takes the code for any launch.
"""

from __future__ import annotations

LIMIT = 1 << 30
"""The most threads of a grid along an axis, bytes from an array's first to its last element, and
magnitude of an integer argument of 64 bits, of a stride and of a length. Twice this fits in an i32,
so that an index may take one more step of a grid than there are elements."""

MOST_BLOCKS = 1 << 21
"""The most blocks along an axis: times the threads of a block they still fit in an i32."""
