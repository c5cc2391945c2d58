"""The parent of the folder `numba`; see install_as_numba."""
