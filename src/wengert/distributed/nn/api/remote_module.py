"""``RemoteModule``: a module that is made, and runs, in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....nn.modules.module import Module
from ....tensor.types import device as device_of
from ... import rpc
from ...rpc.wire import REDUCERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....futures import Future

_NOT_HERE = ("register_buffer register_parameter add_module apply cuda ipu xpu cpu type float double half bfloat16 to "
    "register_backward_hook register_forward_pre_hook register_forward_hook state_dict load_state_dict "
    "named_parameters buffers named_buffers children named_children named_modules requires_grad_ zero_grad "
    "share_memory")


def _place(text: str) -> tuple[Any, str]:
    """Worker (a name or a number) and device of ``worker1/cpu``, ``rank:1``, ``cpu``."""
    worker, slash, device = text.partition("/")
    wrong = ValueError(f"Could not parse remote_device: {text}. The valid format is '<workername>/<device>' or "
        "'rank:<rank>/<device>' or '<device>'")
    if "/" in device or not worker or (slash and not device):
        raise wrong
    if not slash:
        try:
            return rpc.get_worker_info(), str(device_of(worker))
        except RuntimeError:
            device = "cpu"
    if worker.startswith("rank:"):
        if not worker[5:].isdigit():
            raise wrong
        return int(worker[5:]), device
    return worker, device


def _create(module_cls: Any, args: Any, kwargs: Any, device: str) -> Any:
    module = module_cls(*args, **kwargs)
    if not isinstance(module, Module):
        raise ValueError("Expect `module_cls(*args, **kwargs)` returns an instance of <class nn.Module>, but it "
            f"returns an instance of {type(module)}.")
    return module.to(device)


def _forward(rref: Any, args: Any, kwargs: Any) -> Any:
    return rref.local_value()(*args, **kwargs)


def _parameters(rref: Any, recurse: bool) -> list[Any]:
    return [rpc.RRef(p) for p in rref.local_value().parameters(recurse)]


def _train(rref: Any, mode: bool) -> None:
    rref.local_value().train(mode)


class RemoteModule(Module):
    """``module_cls(*args, **kwargs)`` in another process, called like a module here.

    ``remote_device``: ``"worker1/cpu"``, ``"rank:1/cpu"``, or ``"cpu"`` for this process. Inside of a
    ``torch.distributed.autograd.context()`` its parameters get gradients; ``remote_parameters()`` gives an optimizer
    references to them.
    """

    def __init__(self, remote_device: str, module_cls: Any, args: tuple[Any, ...] | None = None,
            kwargs: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.on, self.device = _place(remote_device)
        self.is_scriptable = self.is_device_map_set = False
        self.module_rref = rpc.remote(self.on, _create, (module_cls, args or (), kwargs or {}, self.device))

    @staticmethod
    def init_from_module_rref(remote_device: str, module_rref: Any, _module_interface_cls: Any = None) -> RemoteModule:
        """One for a module that is there already, by a reference to it."""
        return _arrived(*_place(remote_device), module_rref)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result."""
        return rpc.rpc_sync(self.on, _forward, (self.module_rref, args, kwargs))

    def forward_async(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future of the module's result."""
        return rpc.rpc_async(self.on, _forward, (self.module_rref, args, kwargs))

    def remote_parameters(self, recurse: bool = True) -> list[Any]:
        """References to the parameters."""
        found: list[Any] = rpc.rpc_sync(self.on, _parameters, (self.module_rref, recurse))
        return found

    def get_module_rref(self) -> Any:
        """A reference to the module."""
        return self.module_rref

    def train(self, mode: bool = True) -> RemoteModule:
        """Set training mode there. Its own ``training`` stays as it is, as PyTorch's does."""
        rpc.rpc_sync(self.on, _train, (self.module_rref, mode))
        return self

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        raise ValueError("Method ``parameters`` not supported for RemoteModule. Please use ``remote_parameters`` "
            "instead.")

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Itself."""
        return iter((self,))

    def __getstate__(self) -> dict[str, Any]:
        raise RuntimeError("Cannot pickle RemoteModule in python pickler. RemoteModule can only be pickled when using "
            "RPC")

    def __repr__(self) -> str:
        return f"RemoteModule(on={self.on}, device={self.device})"


def _refusing(name: str) -> Any:
    def refuse(self: RemoteModule, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(f"Method ``{name}`` not supported for RemoteModule")

    refuse.__name__, refuse.__doc__ = name, "Not for a module that is elsewhere."
    return refuse


for _name in _NOT_HERE.split():
    setattr(RemoteModule, _name, _refusing(_name))


def _arrived(on: Any, device: str, rref: Any) -> RemoteModule:
    made = RemoteModule.__new__(RemoteModule)
    Module.__init__(made)
    made.on, made.device, made.module_rref = on, device, rref
    made.is_scriptable = made.is_device_map_set = False
    return made


REDUCERS[RemoteModule] = lambda module: (_arrived, (module.module_rref.owner(), module.device, module.module_rref))
