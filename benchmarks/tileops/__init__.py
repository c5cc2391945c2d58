"""The workloads of TileOPs' manifest, computed by gridlane's tile kernels beside torch."""
