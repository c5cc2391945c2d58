"""Holds the folder `numba`; see install_as_numba."""
