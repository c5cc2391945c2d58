"""What actors run on a device: the handler with the loop around it, in the dialect."""
