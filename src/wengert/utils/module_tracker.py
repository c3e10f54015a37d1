"""``ModuleTracker``: which modules the program is in, in the forward and in the backward."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ..tensor.tensor import Tensor

if TYPE_CHECKING:
    from ..graph.handles import RemovableHandle

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Inside ``with``, ``parents`` is the set of the names of the modules that are running; ``is_bw``: whether a
    backward is running.

    A name is that of the class for the outermost module, and the path of attributes below it: ``MLP.layers.0``.

    >>> from wengert.utils.module_tracker import ModuleTracker
    >>> class Inner(torch.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    ...         return x
    >>> with ModuleTracker() as tracker:
    ...     y = torch.nn.Sequential(Inner())(torch.ones(1))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents = {"Global"}
        self.is_bw = False
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._handles: list[RemovableHandle] = []
        self._before: list[set[str]] = []

    def _name(self, module: Any) -> str:
        if module not in self._names:
            self._names[module] = type(module).__name__
        for name, child in module.named_children():
            if child not in self._names:
                self._names[child] = f"{self._names[module]}.{name}"
        return self._names[module]

    def _enter(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self._before.append(self.parents)
        self.parents = {*self.parents, name}
        inputs = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
        if inputs:  # the backward leaves the module when all of its inputs have their gradients
            self._hook(inputs, lambda: self.parents.discard(name))

    def _leave(self, module: Any, args: Any, output: Any) -> None:
        if self._before:
            self.parents = self._before.pop()
        name = self._name(module)
        row = output if isinstance(output, (tuple, list)) else (output,)
        for t in row:
            if isinstance(t, Tensor) and t.requires_grad:

                def enter(g: Any) -> None:
                    self.is_bw = True
                    self.parents.add(name)

                self._handles.append(t.register_hook(enter))

    def _hook(self, tensors: list[Any], then: Any) -> None:
        left = len(tensors)

        def one(g: Any) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                left = len(tensors)
                then()

        for t in tensors:
            self._handles.append(t.register_hook(one))

    def __enter__(self) -> ModuleTracker:
        from ..nn.modules._hooks import register_module_forward_hook, register_module_forward_pre_hook

        self.parents, self.is_bw = {"Global"}, False
        self._before.clear()
        self._handles = [register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True)]
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
