# What gridlane uses of llvmlite, which ships no types.
__version__: str
