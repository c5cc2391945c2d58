"""The mark of the C sources: a library and this Python fit together if their marks are equal.

Python reads and writes C's records by their layouts, and calls C's functions by their tables. A
library of another gridlane has other ones, so Python compares the marks before it uses any of
these.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_ROOM = Path(__file__).parent
_NATIVE = _ROOM.parents[1] / "native"


def mark() -> str:
    """The digest of the C sources."""
    digest = hashlib.sha256()
    for path in sorted(each for room in (_ROOM, _NATIVE) for each in room.glob("*.[ch]")):
        digest.update(path.name.encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]
