"""Code of actors that runs on a device, in the dialect: the handler with the loop around it."""
