"""Programs of other projects on libcuda.so.1; ``pytest tests/peers --ptx`` runs those that are
quick, and ``python -m tests.peers.clients.numba_suite`` the test suite of numba-cuda."""
