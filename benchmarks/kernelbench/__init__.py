"""Level 1 of KernelBench (Ouyang et al., 2025): 100 modules of torch, computed by gridlane."""
