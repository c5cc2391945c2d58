"""One kernel from the kernels of several launches: joined, simplified, and checked for products
whose rounding another kernel could change."""
