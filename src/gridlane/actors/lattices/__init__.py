"""Lattices: actors whose state is a field of cells, cut into blocks that exchange halos."""
