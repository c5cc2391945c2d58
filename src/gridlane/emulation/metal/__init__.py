"""A stand-in for Apple's Metal with the checked interface of PyPI's pyobjc-framework-Metal.

``framework`` replaces ``import Metal`` of a Mac and ``bridge`` replaces ``import objc``;
GRIDLANE_METAL=emulated makes the ``metal`` driver use them. Kernels are MSL text, which g++
compiles against ``metal_stdlib``; threads of a threadgroup are fibers (``runtime.cpp``).

It checks a driver's use of Metal: the order of calls, limits, residency, fences between encoders,
ownership of objects. It does not model what Apple's compiler accepts and how its hardware rounds.
"""
