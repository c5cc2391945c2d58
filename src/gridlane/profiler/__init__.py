"""Profiles: what kernels, copies and compilations took, on any device; see docs/profiling.md."""
