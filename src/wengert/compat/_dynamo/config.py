"""Switches of PyTorch's compiler: they can be set, keep what was set, and change nothing here."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

accumulated_cache_size_limit = accumulated_recompile_limit = 256
assume_static_by_default = automatic_dynamic_shapes = optimize_ddp = specialize_int = True
cache_size_limit = recompile_limit = 8
capture_dynamic_output_shape_ops = capture_scalar_outputs = disable = dynamic_shapes = error_on_recompile = False
force_parameter_static_shapes = inline_inbuilt_nn_modules = True
fail_on_cache_limit_hit = suppress_errors = verbose = False


@contextmanager
def patch(changes: Any = None, value: Any = None, **named: Any) -> Iterator[None]:
    """Other values for a while: a dictionary, a name and a value, or named ones. A context or a decorator."""
    wanted = {changes: value} if isinstance(changes, str) else {**(changes or {}), **named}
    here = sys.modules[__name__]
    before = {name: getattr(here, name) for name in wanted}
    for name, new in wanted.items():
        setattr(here, name, new)
    try:
        yield
    finally:
        for name, old in before.items():
            setattr(here, name, old)
