"""Modules wrapped so that their forwards save less: see ``checkpoint_wrapper``."""
