"""What takes calls into other hands: ``__torch_function__``, ``__torch_dispatch__``, modes, names of ``torch.ops.aten``, the device ``meta``."""
