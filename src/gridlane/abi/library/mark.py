"""The mark of the C sources, by which a library and Python know that they fit together.

Python reads and writes records of C's by their layouts, and calls C's functions by their tables. A
library of an older gridlane has others, so its mark is compared before Python uses any of these.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_ROOM = Path(__file__).parent


def mark() -> str:
    """The digest of the C sources."""
    made = hashlib.sha256()
    for path in sorted((*_ROOM.glob("*.h"), *_ROOM.glob("*.c"))):
        made.update(path.name.encode() + b"\0")
        made.update(path.read_bytes())
    return made.hexdigest()[:32]
