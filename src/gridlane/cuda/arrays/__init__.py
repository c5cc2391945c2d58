"""Arrays: what holds memory, and how it moves."""
