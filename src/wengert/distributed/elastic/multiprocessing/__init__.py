"""``torch.distributed.elastic.multiprocessing``: the errors of workers, which ``errors`` has."""
