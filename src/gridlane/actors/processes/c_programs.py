"""What C programs that use actors need."""

from __future__ import annotations

from pathlib import Path


def include_folder() -> str:
    """The folder with ``gridlane_actors.h``, for a compiler's ``-I``.

    >>> from pathlib import Path
    >>> (Path(include_folder()) / "gridlane_actors.h").exists()
    True
    """
    return str(Path(__file__).parents[1] / "engine")
