"""Verdicts on numbers: NaN and inf, how large gradients are, activations that let none through."""
