"""The folders in which child processes in Python find modules first."""

from __future__ import annotations

import os


def put_first(*folders: str) -> None:
    """Put folders in front of the PYTHONPATH that children inherit, once each."""
    there = [item for item in os.environ.get("PYTHONPATH", "").split(os.pathsep) if item]
    added = [folder for folder in folders if folder not in there]
    os.environ["PYTHONPATH"] = os.pathsep.join([*added, *there])
