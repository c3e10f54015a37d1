"""``torch.nn.grad``: gradients of convolutions by their input and by their weight, for the gradient of the output.

>>> w = torch.ones(1, 1, 2)
>>> torch.nn.grad.conv1d_input((1, 1, 3), w, torch.ones(1, 1, 2))
tensor([[[1., 2., 1.]]])
"""

from __future__ import annotations

from typing import Any

from ..autograd import grad
from ..functions.creation import zeros
from ..graph.modes import enable_grad
from ..tensor.autograd_meta import requires_grad
from . import functional as F

__all__: list[str] = []


def _gradients(n: int) -> None:
    convolve = getattr(F, f"conv{n}d")

    def by_input(input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
            groups: int = 1) -> Any:
        with enable_grad():
            input = zeros(tuple(input_size), dtype=grad_output.dtype)._wg_require()
            output = convolve(input, weight, None, stride, padding, dilation, groups)
            return grad(output, input, grad_output, create_graph=requires_grad(grad_output) or requires_grad(weight))[0]

    def by_weight(input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
            groups: int = 1) -> Any:
        with enable_grad():
            weight = zeros(tuple(weight_size), dtype=grad_output.dtype)._wg_require()
            output = convolve(input, weight, None, stride, padding, dilation, groups)
            return grad(output, weight, grad_output, create_graph=requires_grad(grad_output) or requires_grad(input))[0]

    for f, what in ((by_input, "input"), (by_weight, "weight")):
        f.__name__ = f.__qualname__ = f"conv{n}d_{what}"
        f.__doc__ = (f"The gradient of ``conv{n}d`` by its {what}, whose size is given, for the gradient "
            "``grad_output`` of its output.")
        globals()[f.__name__] = f
        __all__.append(f.__name__)


for _n in (1, 2, 3):
    _gradients(_n)
