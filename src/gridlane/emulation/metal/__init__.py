"""A stand-in for Apple's Metal, as PyPI's pyobjc-framework-Metal shows it: the same names, checked.

``framework`` is what ``import Metal`` gives on a Mac and ``bridge`` what ``import objc`` gives;
GRIDLANE_METAL=emulated makes the driver of ``metal`` take them. Kernels are MSL text, which g++
compiles against ``metal_stdlib``; threads of a threadgroup are fibers (``runtime.cpp``).

It judges what a driver does: the order of calls, limits, residency, fences between encoders,
ownership of objects. What Apple's compiler accepts and what its hardware rounds is not seen here.
"""
