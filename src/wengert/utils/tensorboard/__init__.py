"""``utils.tensorboard``: files for TensorBoard, written by the package tensorboardX.

``pip install 'wengert[tensorboard]'`` brings it. Tensors reach it as NumPy arrays. The graph of a module, which would
have to be traced, is not written.

>>> import tempfile, pathlib
>>> from wengert.utils.tensorboard import SummaryWriter
>>> folder = tempfile.mkdtemp()
>>> with SummaryWriter(folder) as writer:
...     writer.add_scalar("loss", torch.tensor(0.5), 1)
...     writer.add_histogram("weights", torch.randn(100), 1)
>>> len(list(pathlib.Path(folder).iterdir()))
1
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NoReturn

try:
    from tensorboardX import FileWriter
    from tensorboardX import SummaryWriter as _Writer
    from tensorboardX.record_writer import RecordWriter
except ImportError as error:
    raise ImportError("torch.utils.tensorboard writes its files with the package tensorboardX, which is not installed: "
        "pip install tensorboardX") from error

from ...names.missing import missing_from
from ...tensor import Tensor
from .._pytree import tree_map_only

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]


def _plain(method: Callable[..., Any]) -> Callable[..., Any]:
    """``method``, given arrays for tensors."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map_only(Tensor, _array, (args, kwargs))
        return method(self, *args, **kwargs)

    return call


def _array(tensor: Tensor) -> Any:
    found = tensor.detach().cpu()
    return (found.float() if found.is_floating_point() and found.itemsize == 2 else found).numpy()


class SummaryWriter(_Writer):
    """tensorboardX's writer, with PyTorch's arguments: see its ``add_scalar``, ``add_image``, ``add_histogram`` ..."""

    def __init__(self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
            flush_secs: int = 120, filename_suffix: str = "") -> None:
        super().__init__(log_dir, comment=comment, purge_step=purge_step, max_queue=max_queue, flush_secs=flush_secs,
            filename_suffix=filename_suffix)
        self.log_dir = self.logdir

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, walltime: Any = None,
            new_style: bool = False, double_precision: bool = False) -> None:
        """One number; ``new_style`` and ``double_precision`` have no effect."""
        super().add_scalar(tag, scalar_value, global_step, walltime)

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: Any = None,
            run_name: str | None = None, global_step: Any = None) -> None:
        """Settings of a run and what came of them; ``hparam_domain_discrete`` has no effect."""
        super().add_hparams(hparam_dict, metric_dict, run_name, global_step)

    def add_graph(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuses: programs are not traced."""
        raise NotImplementedError("SummaryWriter.add_graph: programs are not traced, so there is no graph of a module; "
            "`wengert run --html FILE` draws that of a backward pass")


for _name in dir(SummaryWriter):
    if _name.startswith("add_") and _name != "add_graph":
        setattr(SummaryWriter, _name, _plain(getattr(SummaryWriter, _name)))

__getattr__ = missing_from(__name__)
