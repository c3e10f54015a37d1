"""Native kernels by themselves: they refuse numbers that would overflow, and Ctrl-C ends those that take long."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from wengert.arrays import native

pytestmark = pytest.mark.skipif(
    not hasattr(native, "_kernels") or os.environ.get("WENGERT_NATIVE") == "0", reason="there is no native extension"
)
HUGE = (-1, 2**31, 2**62, 2**63 - 1, 2**63, -(2**63))
image = np.ones((1, 1, 5, 5), np.float32)
columns = np.ones((1, 9, 9), np.float32)


def kernels() -> Any:
    return native._kernels


@pytest.mark.parametrize("n", HUGE)
@pytest.mark.parametrize("at", range(4))
def test_windows_are_refused(n: int, at: int) -> None:
    """Kernel, stride, padding and dilation, one after the other."""
    how: list[Any] = [(3, 3), (1, 1), (0, 0), (1, 1)]
    how[at] = (1, n)
    assert kernels().im2col(image, *how) is NotImplemented
    assert kernels().col2im(columns, (5, 5), *how) is NotImplemented
    assert kernels().max_pool(image, (3, 3), *how) is NotImplemented
    weight = np.ones((1, 1, 3, 3), np.float32)
    if at:
        assert kernels().conv(image, weight, None, how[1], how[2], how[3], 1) is NotImplemented
        assert kernels().conv_weight(image, image, (1, 1, 3, 3), how[1], how[2], how[3], 1) is NotImplemented


@pytest.mark.parametrize("how",
    [((3, 3), (0, 1), (0, 0), (1, 1)), ((0, 3), (1, 1), (0, 0), (1, 1)), ((3, 3), (1, 1), (0, 0), (1, 0))])
def test_zero_is_refused(how: Any) -> None:
    assert kernels().im2col(image, *how) is NotImplemented
    assert kernels().col2im(columns, (5, 5), *how) is NotImplemented


def test_counts_are_refused() -> None:
    assert kernels().max_pool(image, (2**31 - 1,) * 2, (3, 3), (1, 1), (0, 0), (1, 1)) is NotImplemented
    assert kernels().max_pool_grad(image, np.zeros(image.shape, np.int64), (2**31 - 1,) * 2) is NotImplemented
    assert (kernels().conv(image, np.ones((1, 1, 3, 3), np.float32), None, (1, 1), (2**31 - 1,) * 2, (1, 1),
        1) is NotImplemented)
    with pytest.raises(ValueError, match="a stride is too large"):
        kernels().restrided(image, (2,), (2**62,))


CALLS = {
    "avg_pool2d": "F.avg_pool2d(torch.ones(1, 1, 3000, 3000), 1001, 1, padding=500)",
    "max_pool2d": "F.max_pool2d(torch.ones(1, 1, 3000, 3000), 1001, 1, padding=500)",
    "attention": "(lambda q: F.scaled_dot_product_attention(q, q, q))(torch.ones(1, 1, 200000, 32))",
}
PROGRAM = """
import os, signal, threading, time
import wengert as torch
import wengert.nn.functional as F
torch.set_num_threads({threads})
def later():
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=later).start()
begun = time.time()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", time.time() - begun < 5)
print(F.avg_pool2d(torch.ones(1, 1, 4, 4), 2).sum().item())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="native jobs can be stopped where there are POSIX threads")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["avg_pool2d", "max_pool2d", "attention"])
def test_ctrl_c_ends_long_kernels(name: str, threads: int) -> None:
    """Each would take a minute and more; what comes after it works as before."""
    program = PROGRAM.format(call=CALLS[name], threads=threads)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert run.stdout.split("\n")[:2] == ["interrupted True", "4.0"], run.stdout + run.stderr
    assert run.returncode == 0
