"""The parent of the folder `triton`; see install_as_triton."""
