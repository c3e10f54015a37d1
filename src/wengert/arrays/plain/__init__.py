"""The plain-NumPy definition of every kernel: fallback without a compiler, and oracle of the native kernels' tests."""
