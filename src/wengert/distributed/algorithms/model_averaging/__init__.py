"""Averages of the parameters of all processes, from time to time."""
