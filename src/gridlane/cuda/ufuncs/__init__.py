"""vectorize, guvectorize and reduce."""
