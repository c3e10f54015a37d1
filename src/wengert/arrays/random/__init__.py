"""Random streams: PyTorch's CPU generator, number for number, on NumPy arrays.

A seed gives the values that PyTorch 2.13 draws from the same seed, so one script has the same initial weights, the
same batches and the same dropout masks on both libraries.

==============  ================================================================================
room            holds
==============  ================================================================================
``stream``      the Mersenne Twister (MT19937): words, integers, uniforms, and the saved state
``names``       what messages call each type, and what it can hold
``rounding``    multiply-add with one rounding, narrowing to half precision
``gaussian``    normal numbers: 16 at a time (large arrays) and in pairs (small ones)
``integers``    integers in a range of any type, permutations
``rejection``   Poisson, gamma and binomial numbers, which use a varying amount of the stream
``generator``   :class:`Generator`: one method per distribution, its checks, its lock
==============  ================================================================================

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
