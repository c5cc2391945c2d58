"""The common base of the devices ``webgpu`` and ``opengl``: shaders without pointers, so the memory
of a device is one buffer, an arena that grows, and an address is a byte offset into it. Arrays that
do not fit are in further buffers, whose number is the upper half of an address.

``core.shader_abi`` is the contract between kernels and this package. An ``engine.Engine``
implements the differences between the two devices.
"""
