"""The decorators vectorize, guvectorize and reduce."""
