"""Random streams: PyTorch's CPU generator, number for number, on NumPy arrays.

A seed gives the values that PyTorch 2.13 draws from the same seed, so one script has the same initial weights, the
same batches and the same dropout masks on both libraries.

What is exact and what is to rounding: everything made from integers and single multiply-adds (uniforms, integers,
permutations, Bernoulli, dropout) is equal bit for bit, and so is the state of the stream after any draw. Values that
pass through ``log``, ``sin`` or ``tan`` agree to a few units in the last place: libraries round those differently.
Not matched: which of two equal scores of half precision ``multinomial`` prefers, and the Bernoulli and exponential
numbers of PyTorch on Intel processors, where its sources hand them to MKL.
"""

from __future__ import annotations

from .generator import Generator, in_memory_order
from .stream import entropy

__all__ = ["Generator", "entropy", "in_memory_order"]
