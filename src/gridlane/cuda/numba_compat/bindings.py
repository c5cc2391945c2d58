"""NVIDIA's Python bindings if they are not installed: the exception that programs catch."""

from __future__ import annotations

from gridlane.core.errors import GridlaneError
from gridlane.cuda.names import missing

# A failed launch and a failed device call share this base. except looks at bases only.
CUDAError = GridlaneError


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "NVIDIA's bindings: cuda")
