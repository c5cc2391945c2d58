"""Complex numbers as pairs of floats: the formulas that every frontend and the arrays use."""
