"""Names that few programs use, against PyTorch: reductions of runs, hashes, control flow, settings, gradients of
convolutions.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
import pytest

import wengert

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def outcome(f: Any) -> Any:
    try:
        return f()
    except Exception as e:
        return f"{type(e).__name__}: {str(e).splitlines()[0][:90]}"


DATA = [[1.0, 2.0], [3.0, 4.0], [3.0, 6.0], [0.0, 8.0], [0.0, 1.0]]
RUNS: list[dict[str, Any]] = [
    {"lengths": [2, 3]}, {"lengths": [2, 0, 3]}, {"offsets": [0, 2, 5]}, {"lengths": [2, 3], "initial": 2.0},
    {"lengths": [2, 0, 3], "initial": 1},
    {"lengths": [[2, 0], [1, 1], [1, 1], [0, 2], [2, 0]], "axis": 1, "unsafe": True}, {"lengths": [2, 2]},
    {"lengths": [2, -2]}, {"lengths": [2.0, 3.0]}, {"lengths": [2, 3], "axis": 1}, {"indices": [2, 3]}, {},
]


@pytest.mark.parametrize("runs", RUNS, ids=str)
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod", "median"])
def test_segment_reduce(reduce: str, runs: dict[str, Any]) -> None:
    def run(L: Any) -> Any:
        x = L.tensor(DATA, dtype=L.float64, requires_grad=True)
        out = L.segment_reduce(x, reduce, **{k: L.tensor(v) if isinstance(v, list) else v for k, v in runs.items()})
        finite = out.detach().isfinite()
        (out * L.arange(1, out.numel() + 1).reshape(out.shape))[finite].sum().backward()
        return [out.detach().numpy(), x.grad.numpy(), out.grad_fn.name()]

    theirs, ours = outcome(lambda: run(torch)), outcome(lambda: run(wengert))
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        assert ours[2] == theirs[2]
        for a, b in zip(theirs[:2], ours[:2]):
            np.testing.assert_allclose(b, a)


HASHED = ["3.5", "3", "[1, 2, 3]", "[[1.0, 2.0], [3.0, 4.0]]", "[True, False]", "[-1, 2]", "[]"]


@pytest.mark.parametrize("values", HASHED)
def test_hash_tensor(values: str) -> None:
    for options in ({}, {"dim": -1}, {"dim": 0, "keepdim": True}, {"mode": 1}):
        theirs, ours = (outcome(lambda L=L: L.tensor(eval(values)).hash_tensor(**options)) for L in (torch, wengert))
        assert str(ours) == str(theirs)


SAME = [
    "torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.tensor(1.0),))",
    "torch.cond(False, lambda x: x + 1, lambda x: x - 1, (torch.tensor(1.0),))",
    "torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.tensor(1.0)))",
    "(torch.set_deterministic_debug_mode('warn'), torch.get_deterministic_debug_mode(), "
    "torch.set_deterministic_debug_mode(0))",
    "torch.set_deterministic_debug_mode('foo')", "torch.set_deterministic_debug_mode(3)", "torch.has_lapack",
    "torch.compiled_with_cxx11_abi()",
    "(torch.set_anomaly_enabled(True), torch.is_anomaly_enabled(), torch.set_anomaly_enabled(False))",
    "list(reversed(torch.tensor([1, 2, 3])))", "torch.tensor([1]).reinforce(1)", "torch.tensor([1]).is_xla",
    "torch.ones(2, 2).eig()", "torch.tensor([1]).module_load(torch.tensor([2]))", "torch.tensor([1]).__nonzero__()",
    "torch.tensor([1.5]).__long__()", "torch.tensor([1]).__delitem__(0)", "torch.functional.einsum is torch.einsum",
    "torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.tensor([1.0])))",
    "torch.utils.dlpack.from_dlpack(torch.tensor([1.0]))", "torch.torch is torch",
    "torch.__config__.show().splitlines()[0]", "torch.__config__.parallel_info().splitlines()[0]",
    "(torch.LongTensor.dtype, torch.LongTensor.layout, torch.LongTensor.is_cuda, torch.LongTensor.__name__)",
    "None | torch.LongTensor == torch.LongTensor | None", "torch.cuda.nvtx.range_push('a')",
    "torch._tensor_str._add_suffixes(torch._tensor_str._tensor_str(torch.ones(2, 3), 2), ['a=1'], 2, False)",
    "torch._tensor_str._add_suffixes('1', ['a=1', 'b=2'], 2, True)", "torch._tensor_str.PRINT_OPTS.precision",
    "torch.nn.parallel.scatter_gather.gather([torch.ones(2)], 'cpu')", "torch.ones(100).storage().__sizeof__() > 400",
    "torch.ones(100).untyped_storage().__sizeof__() > 400", "torch._dynamo.graph_break()",
    "torch._dynamo.is_compiling()", "torch._dynamo.disable(abs)(-2)",
    "torch.distributions.multivariate_normal._batch_mv(torch.eye(2), torch.ones(2))", "torch.thread_safe_generator()",
    "isinstance(1.5, torch.types.Number)", "torch.view_as_real_copy(torch.tensor([1j]))",
    "torch.ones(1).conj_physical() is torch.ones(1)._conj_physical()", "torch.tensor([1j])._conj()",
]


@pytest.mark.parametrize("text", SAME)
def test_same(text: str) -> None:
    found = []
    for L in (torch, wengert):
        for name in ("utils.dlpack", "types", "functional", "_tensor_str", "cuda.nvtx", "_dynamo",
                "nn.parallel.scatter_gather"):
            importlib.import_module(f"{L.__name__}.{name}")
        found.append(str(outcome(lambda L=L: eval(text, {"torch": L, "outcome": outcome}))))
    assert found[1] == found[0]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_convolutions(n: int) -> None:
    rng = np.random.default_rng(0)
    x, w, g = (rng.normal(size=s) for s in ((2, 2, *(6,) * n), (4, 1, *(3,) * n), (2, 4, *(3,) * n)))
    for what in ("input", "weight"):
        found = []
        for L in (torch, wengert):
            t = [L.tensor(a) for a in (x, w, g)]
            module = importlib.import_module(f"{L.__name__}.nn.grad")
            arguments = (t[0].shape, t[1], t[2]) if what == "input" else (t[0], t[1].shape, t[2])
            found.append(getattr(module, f"conv{n}d_{what}")(*arguments, stride=2, padding=1, groups=2).numpy())
        np.testing.assert_allclose(found[1], found[0], atol=1e-12)


def test_replicas_need_a_process_group() -> None:
    for L in (torch, wengert):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            L.nn.parallel.DistributedDataParallel(L.nn.Linear(1, 1))
        with pytest.raises(ValueError, match="Expected a non cpu device, but got: cpu"):
            L.nn.parallel.scatter(L.ones(2), ["cpu"])


def test_switches_of_the_compiler_keep_what_was_set() -> None:
    for L in (torch, wengert):
        config = importlib.import_module(f"{L.__name__}._dynamo.config")
        with config.patch(suppress_errors=True):
            assert config.suppress_errors
        assert not config.suppress_errors
