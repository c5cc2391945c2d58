"""The signatures of NVIDIA's functions, for other frontends."""

from gridlane.frontends.python.libdevice_stubs import SIGNATURES

__all__ = ["SIGNATURES"]
