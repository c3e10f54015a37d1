"""``torch.distributed.elastic``: workers of a launcher, their restarts and their errors."""
