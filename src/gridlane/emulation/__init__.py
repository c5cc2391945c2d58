"""Stand-ins for hardware, which run on the CPU. Nothing here is chosen unless the user asks."""
