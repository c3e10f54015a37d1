"""PyTorch's names, as tables that import nothing: where each is here, which are absent and why, and the stubs for type checkers."""
