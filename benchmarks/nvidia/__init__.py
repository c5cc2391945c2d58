"""gridlane on an NVIDIA GPU, beside its peers: ``python -m benchmarks.nvidia``."""
