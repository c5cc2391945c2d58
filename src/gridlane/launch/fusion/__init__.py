"""Fusion of launches: launches that a thread delays, and kernels that take the place of several."""

from gridlane.launch.fusion.block import Fusion, fused

__all__ = ["Fusion", "fused"]
