"""Binary64."""
