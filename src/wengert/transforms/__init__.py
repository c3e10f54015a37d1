"""Transformations of functions: forward mode, ``vmap``, and what ``func`` needs of autograd."""

from __future__ import annotations

from ..graph.modes import add_field

add_field("levels")  # the levels of forward differentiation in force, outermost first: see ``forward_mode``
