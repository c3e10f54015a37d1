"""Tensors in other layouts than strides: sparse by coordinates, by rows and by columns."""
