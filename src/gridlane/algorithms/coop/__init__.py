"""Algorithms of blocks and warps with the names of NVIDIA's ``cuda.coop``, called in kernels, on
any device; see docs/algorithms.md."""

from __future__ import annotations

from gridlane.algorithms.coop import block as block
from gridlane.algorithms.coop import warp as warp
from gridlane.algorithms.coop.invocable import StatefulFunction as StatefulFunction

__all__ = ["StatefulFunction", "block", "warp"]
