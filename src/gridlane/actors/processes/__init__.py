"""Other processes of the user: their inboxes, connections to these, and C programs."""
