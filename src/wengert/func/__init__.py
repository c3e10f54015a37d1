"""``torch.func``: functions in, functions out. Gradients, Jacobians and maps of functions of tensors, freely nested.

Arguments and results may be nested dicts, lists and tuples of tensors.

>>> from wengert.func import grad, vmap
>>> grad(grad(torch.sin))(torch.tensor(0.5))
tensor(-0.4794)
>>> vmap(grad(lambda x: x ** 3))(torch.tensor([1.0, 2.0]))
tensor([ 3., 12.])
"""

from __future__ import annotations

from .arrangement import rearrange
from .gradients import debug_unwrap, functionalize, grad, grad_and_value, vjp
from .jacobians import hessian, jacfwd, jacrev, jvp, linearize
from .mapping import vmap
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]
