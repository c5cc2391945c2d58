"""Sorting and searching of arrays, by the kernels of ``gridlane.algorithms``."""
