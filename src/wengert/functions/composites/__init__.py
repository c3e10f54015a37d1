"""Operators that are expressions in others: how they are called, and the one node that some of them leave."""
