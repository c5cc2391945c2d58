"""Reductions of arrays: one value of many elements, by a tree that depends on shapes alone."""
