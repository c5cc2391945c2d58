"""What the functions of CUDA's interface do, a module for each family."""
