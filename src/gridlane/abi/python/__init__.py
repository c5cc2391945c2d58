"""CUDA's interface in Python, with the calling convention of NVIDIA's bindings.

A function returns a tuple: its error first, then its results, or None for each if it failed.
"""

from gridlane.abi.python.functions import names_of, resolve

__all__ = ["names_of", "resolve"]
