"""One schema of a message or a structure of the protocol, for every language."""
