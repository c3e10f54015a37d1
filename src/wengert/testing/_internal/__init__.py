"""What PyTorch's own test files import: enough of ``torch.testing._internal`` to run those about autograd on a CPU."""
