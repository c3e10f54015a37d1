"""What transposed convolutions remember of sizes: the same as they find, and found once."""

from __future__ import annotations

from typing import Any

import pytest

import wengert as torch
from wengert.ops import conv

F = torch.nn.functional
CASES: list[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ("conv_transpose1d", (2, 4, 9), (4, 3, 3), {}),
    ("conv_transpose1d", (4, 9), (4, 3, 4), dict(stride=(3,), padding=1)),
    ("conv_transpose2d", (2, 4, 5, 6), (4, 3, 3, 2), dict(stride=2, padding=(1, 0), output_padding=(1, 0))),
    ("conv_transpose2d", (2, 4, 5, 6), (4, 2, 3, 3), dict(stride=1, output_padding=1, dilation=2, groups=2)),
    ("conv_transpose2d", (2, 4, 1, 1), (4, 3, 2, 2), dict(padding=1)),
    ("conv_transpose2d", (0, 4, 5, 5), (4, 3, 2, 2), {}),
    ("conv_transpose2d", (1, 4, 5, 5), (4, 3, 2, 2), dict(output_padding=1)),
    ("conv_transpose2d", (1, 4, 5, 5), (4, 3, 2, 2), dict(stride=True)),
    ("conv_transpose2d", (1, 3, 5, 5), (4, 3, 2, 2), {}),
    ("conv_transpose2d", (1, 4, 5, 5), (4, 3, 2, 2), dict(stride=0)),
    ("conv_transpose3d", (1, 2, 3, 4, 3), (2, 3, 2, 2, 2), dict(stride=(2, 1, 2), bias=True)),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("name", "shape", "weight", "how"), CASES, ids=str)
def test_what_is_remembered_is_what_is_found(name: str, shape: tuple[int, ...], weight: tuple[int, ...],
        how: dict[str, Any], dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = (torch.randn(s, dtype=torch.float64).to(dtype).requires_grad_() for s in (shape, weight))
    b = torch.randn(weight[1], dtype=torch.float64).to(dtype) if how.get("bias") else None

    def told() -> Any:
        try:
            y = getattr(F, name)(x, w, **how | dict(bias=b))
        except Exception as refused:
            return type(refused), str(refused)
        return y.stride(), y.tolist(), [g.tolist() for g in torch.autograd.grad(y.sum(), (x, w))]

    found = told(), told()
    monkeypatch.setattr(conv, "_everyday", lambda *args: None)
    assert found == (told(), told())


def test_sizes_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = torch.randn(2, 4, 5, 7), torch.randn(4, 3, 2, 3)
    wanted = F.conv_transpose2d(x, w, None, 2, 1)
    monkeypatch.setattr(conv, "_placed", None)
    assert torch.equal(F.conv_transpose2d(x, w, None, 2, 1), wanted)
