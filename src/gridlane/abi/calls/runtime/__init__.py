"""What the functions of the runtime do, by those of the driver."""
