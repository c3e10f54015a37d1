"""PyTorch's names, as tables that import nothing, and stubs of those that modules get from the table of operators."""
