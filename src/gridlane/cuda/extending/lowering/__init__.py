"""llvmlite's builder on gridlane's: code that programs emit themselves."""
