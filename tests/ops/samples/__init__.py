"""Sample arguments for every operator, a file per family, as in ``wengert.ops``."""
