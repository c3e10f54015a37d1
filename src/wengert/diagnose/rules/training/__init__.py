"""Verdicts on the loop: optimizers and their steps, accumulation, modes, what layers share."""
