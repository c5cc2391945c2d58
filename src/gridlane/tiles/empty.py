"""A package of Triton's that has nothing here."""
