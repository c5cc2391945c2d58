"""Processes of this Python that run a module of this gridlane."""

from __future__ import annotations

import sys
from pathlib import Path

# The package is imported from where it is here, which may be a checkout that is not installed.
# Everything else comes from where this Python looks, without the current folder: the program's own
# modules there may have names of others.
_START = (
    "import sys; sys.path.insert(0, {root!r}); import gridlane; del sys.path[0]; "
    "from {module} import main; main()"
)


def command(module: str, *arguments: str) -> list[str]:
    """The command that calls a module's ``main``, with arguments in ``sys.argv[1:]``."""
    root = str(Path(__file__).parents[2])
    start = _START.format(root=root, module=module)
    return [sys.executable, "-P", "-c", start, *arguments]
