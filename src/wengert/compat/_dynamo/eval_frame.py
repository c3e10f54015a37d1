"""Where PyTorch's compiler keeps the module that it makes of a module."""

from ...compiler import OptimizedModule

__all__ = ["OptimizedModule"]
