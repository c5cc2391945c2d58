"""Arrays of other libraries: DLPack and the array interfaces."""
