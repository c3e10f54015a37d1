"""A wrapper tensor and a mode that log the operators they meet. See ``tests.subclasses.load``, which defines ``torch``.

A line is ``$1: float32[2] = aten.mul.Tensor($0, 2)``: tensors are numbered in the order of their first mention.
"""
# ruff: noqa: F821

from contextlib import contextmanager
from weakref import ref

tree_map = torch.utils._pytree.tree_map
_listening = []


def log(name, args, kwargs, result):
    for listener in _listening:
        listener.add(name, args, kwargs, result)


class LoggingTensor(torch.Tensor):
    __slots__ = ["elem"]

    @staticmethod
    def __new__(cls, elem, *, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(
            cls, elem.shape, strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
            device=elem.device, requires_grad=requires_grad,
        )
        made.elem = elem.detach() if requires_grad else elem
        return made

    def __repr__(self):
        return super().__repr__(tensor_contents=repr(self.elem))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain_args, plain_kwargs = tree_map(lambda v: v.elem if isinstance(v, cls) else v, (args, kwargs or {}))
        result = tree_map(lambda v: cls(v) if isinstance(v, torch.Tensor) else v, func(*plain_args, **plain_kwargs))
        log(str(func), args, kwargs or {}, result)
        return result


class LoggingMode(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        log(str(func), args, kwargs or {}, result)
        return result


class _Listener:
    def __init__(self, kind):
        self.kind, self.lines = kind, []
        self.seen = []  # weak references: PyTorch makes an alias of a result that somebody holds on to

    def add(self, name, args, kwargs, result):
        given = [self.text(a) for a in args] + [f"{k}={self.text(v)}" for k, v in kwargs.items()]
        self.lines.append(f"{self.text(result, described=True)} = {name}({', '.join(given)})")

    def text(self, value, described=False):
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self.text(v, described) for v in value)}]"
        if not isinstance(value, self.kind):
            return repr(value)
        number = next((i for i, t in enumerate(self.seen) if t() is value), len(self.seen))
        if number == len(self.seen):
            self.seen.append(ref(value))
        kind = str(value.dtype).removeprefix("torch.")
        return f"${number}: {kind}{list(value.shape)}" if described else f"${number}"


@contextmanager
def capture_logs(kind=LoggingTensor):
    """The lines about tensors of that class that are logged inside."""
    listener = _Listener(kind)
    _listening.append(listener)
    try:
        yield listener.lines
    finally:
        _listening.remove(listener)
