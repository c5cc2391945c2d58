"""Random sequences of calls of libcuda and libcudart, built with sanitizers."""
