"""Write the types of modules that type checkers cannot read: a build does (setup.py), and tests.

    python scripts/stubs.py

``gridlane.cuda`` loads its names when they are used, and the engine of actors is compiled. Python
alone is needed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import cuda_stub
import engine_stub


def main() -> None:
    """Write both files; a reader meets the old text or the new one."""
    for stub in (cuda_stub, engine_stub):
        new = stub.TARGET.with_suffix(f".{os.getpid()}")
        new.write_text(stub.text(), encoding="utf-8")
        new.replace(stub.TARGET)


if __name__ == "__main__":
    main()
