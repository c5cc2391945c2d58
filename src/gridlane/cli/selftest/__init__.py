"""``gridlane selftest``: what a device computes, beside the interpreter, as a table to hand on."""
