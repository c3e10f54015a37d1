"""PyTorch's names, as tables that import nothing: where each is here, which are absent and why.

The stubs list, for type checkers, the names that modules get from the table of operators.
"""
