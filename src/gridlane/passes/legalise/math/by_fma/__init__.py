"""Functions in fewer ops, where a fused multiply-add rounds once.

They are at most 1 ulp off, f32 over all floats, as ``benchmarks/every_float.py`` measures. Those
of f64 are for all targets.
"""
