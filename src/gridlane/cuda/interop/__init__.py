"""Arrays of other libraries: DLPack and the interfaces of arrays."""
