"""The parts of ``torch.utils.benchmark``, under the names that PyTorch has for them."""
