"""Algorithms on top of the collectives: uneven inputs, communication hooks, averages of models."""

from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
