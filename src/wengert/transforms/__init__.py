"""Transformations of functions: forward mode, ``vmap``, and what ``func`` needs of the tape."""
