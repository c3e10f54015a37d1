"""What a module holds, in a tree of modules: found by path, listed, and changed in type, device, mode or gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self, cast

from wengert import __future__ as conversion
from wengert.arrays.dtypes import OF_TYPES
from wengert.graph import no_grad
from wengert.nn._tensors import empty_like
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor, device, dtype

if TYPE_CHECKING:
    from .module import Module


class TreeMethods:
    """The part of ``Module`` that finds its submodules, parameters and buffers, and changes them all."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def get_submodule(self, target: str) -> Module:
        """The module at the dotted path ``target``; ``""`` is this one. ``AttributeError`` where there is none."""
        found: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(found, name):
                raise AttributeError(f"{found._get_name()} has no attribute `{name}`")
            found = getattr(found, name)
            if not isinstance(found, TreeMethods):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put ``module`` at the dotted path ``target``. ``strict``: only where a module is already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, TreeMethods):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), TreeMethods):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the dotted path ``target``; ``AttributeError`` where there is none."""
        owner, name = _owner(self, target)
        found = getattr(owner, name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at the dotted path ``target``; ``AttributeError`` where there is none."""
        owner, name = _owner(self, target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(owner, name)

    def _named_members(self, get_members_fn: Callable[[Module], Iterable[tuple[str, Any]]], prefix: str = "",
            recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        seen, alone = set(), [(prefix, cast("Module", self))]
        for path, owner in self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else alone:
            for name, member in get_members_fn(owner):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{path}.{name}" if path else name), member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once, in the order of registration, this module's before its children's."""
        return (param for _, param in self.named_parameters(recurse=recurse))

    def named_parameters(self, prefix: str = "", recurse: bool = True,
            remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Pairs of qualified name and parameter.

        >>> [name for name, _ in torch.nn.Sequential(torch.nn.Linear(1, 1)).named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True,
            remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Pairs of qualified name and buffer."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        return (module for _, module in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Pairs of name and immediate submodule."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it, each once, parents first."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "",
            remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Pairs of qualified name and module, this one first."""
        memo = set() if memo is None else memo
        this: Any = self
        if this in memo:
            return
        if remove_duplicate:
            memo.add(this)
        yield prefix, this
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    # Changing everything

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call ``fn`` on every submodule and on this one, children first: the way to initialise weights."""
        for module in self.children():
            module.apply(fn)
        this: Any = self
        fn(this)
        return this

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace what every parameter and buffer holds by ``fn`` of it (see also ``torch.__future__``)."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            grad = param.grad
            with no_grad():
                new = fn(param)
            if conversion.get_swap_module_params_on_conversion():
                _swap(param, new, fn, f"{type(self).__name__}.{name}")
                continue
            overwrite = conversion.get_overwrite_module_params_on_conversion()
            if overwrite:
                self._parameters[name] = param = Parameter(new, param.requires_grad)
            elif new is not param:
                param.data = new
            if grad is not None:
                with no_grad():
                    new_grad = fn(grad)
                if overwrite:
                    param.grad = new_grad.requires_grad_(grad.requires_grad)
                elif new_grad is not grad:
                    grad.data = new_grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or convert in place: ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``.

        Only floating and complex tensors change dtype. ``TypeError`` for an integer ``dtype``.

        >>> torch.nn.Linear(1, 1).to(torch.float64).weight.dtype
        torch.float64
        """
        where, kind, options = _parse_to(args, kwargs)
        if kind is not None:
            if not (kind.is_floating_point or kind.is_complex):
                raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                    f"dtype={kind}")
            if kind.is_complex:
                warnings.warn("Complex modules are a new feature under active development whose design may change, and "
                    "some modules might not work as expected when using complex tensors as parameters or "
                    "buffers.", stacklevel=2)

        def convert(t: Tensor) -> Tensor:
            changes = dict(options)
            if t.ndim not in (4, 5):
                changes.pop("memory_format", None)  # formats are for images and volumes
            if where is not None:
                changes["device"] = where
            if kind is not None and (t.is_floating_point() or t.is_complex()):
                changes["dtype"] = kind
            if t.is_meta and where is not None and where.type != "meta":
                raise NotImplementedError("Cannot copy out of meta tensor; no data! Please use "
                    "torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module from meta to a "
                    "different device.")
            return t.to(**changes) if changes else t

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to ``device`` without copying: the values are not set."""
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def type(self, dst_type: Any) -> Self:
        """Convert every parameter and buffer to ``dst_type``."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Convert floating parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self) -> Self:
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move to a GPU; an error where there is none."""
        return self._apply(lambda t: t.cuda(device))

    def share_memory(self) -> Self:
        """Move parameters and buffers to memory that other processes see as well: what one of them learns, all have.

        >>> torch.nn.Linear(1, 1).share_memory().weight.is_shared()
        True
        """
        from wengert.functions.shared_memory import share

        # all at once is quicker
        share(t for t in (*self.parameters(), *self.buffers()) if type(t).share_memory_ is Tensor.share_memory_)
        return self._apply(lambda t: t.share_memory_())

    def train(self, mode: bool = True) -> Self:
        """Set training mode here and below: it changes what dropout and batch norm do."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze or thaw: set ``requires_grad`` of every parameter."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the parameters' gradients, or fill them with zeros."""
        for param in self.parameters():
            grad = param.grad
            if grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()


def _owner(module: Any, target: str) -> tuple[Module, str]:
    path, _, name = target.rpartition(".")
    owner = module.get_submodule(path)
    if not hasattr(owner, name):
        raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
    return owner, name


def _swap(param: Any, new: Any, fn: Callable[[Tensor], Tensor], name: str) -> None:
    """Let ``param`` and what it is converted to trade places, and so its gradient."""
    from wengert.utils._swap import swap_tensors

    grad = param.grad
    param.grad = None
    try:
        swap_tensors(param, Parameter(new, requires_grad=param.requires_grad))
    except Exception as error:
        param.grad = grad
        raise RuntimeError(f"_apply(): Couldn't swap {name}") from error
    if grad is not None:
        with no_grad():
            new_grad = fn(grad)
        new_grad.requires_grad_(grad.requires_grad)
        try:
            swap_tensors(grad, new_grad)
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {name}.grad") from error
        param.grad = grad


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The device, the dtype and the other options in the arguments of ``to``."""
    options = dict(kwargs)
    where, kind, like = options.pop("device", None), options.pop("dtype", None), options.pop("tensor", None)
    rest = [OF_TYPES[a] if isinstance(a, type) and a in OF_TYPES else a for a in args]
    kind = OF_TYPES[kind] if isinstance(kind, type) else kind
    if rest and isinstance(rest[0], Tensor):
        like = rest.pop(0)
    elif rest and isinstance(rest[0], dtype):
        kind = rest.pop(0)
    elif rest:
        where = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], dtype)):
            kind = rest.pop(0)
    options.update(zip(("non_blocking", "copy"), rest, strict=False))
    if len(rest) > 2 or not options.keys() <= {"non_blocking", "copy", "memory_format"}:
        raise TypeError("to() received an invalid combination of arguments")
    if like is not None:
        where, kind = like.device, like.dtype
    if where is not None and not isinstance(where, device):
        where = device(where)
    return where, kind, options
