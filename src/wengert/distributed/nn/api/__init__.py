"""``torch.distributed.nn.api``: modules in other processes."""
