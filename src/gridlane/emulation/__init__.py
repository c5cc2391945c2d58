"""Stand-ins for hardware, which run on the CPU. None is active unless the user asks for it."""
