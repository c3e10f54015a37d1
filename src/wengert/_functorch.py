"""``torch._functorch``: a package of modules whose names are all in ``func.functorch`` (see ``cli.alias``)."""
