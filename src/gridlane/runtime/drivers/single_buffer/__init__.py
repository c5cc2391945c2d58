"""What the devices ``webgpu`` and ``opengl`` share: shaders without pointers, so all memory of a
device is one buffer, an arena that grows, and an address is a number of bytes from its start.

``core.shader_abi`` has what kernels and this package agree on. An ``engine.Engine`` is what differs
between the two.
"""
