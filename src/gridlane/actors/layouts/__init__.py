"""One schema of a message or a structure of the protocol, written out for every language."""
