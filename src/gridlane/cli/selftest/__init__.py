"""``gridlane selftest``: compare a device with the interpreter, as a table to send to others."""
