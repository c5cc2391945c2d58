"""The frontend of the numba.cuda dialect: Python functions to IR."""
