"""What a training step asks of a device: launches, reads and uploads, counted on strict arrays. Prints JSON.

``python -m tests.cuda.steps``; with ``--where`` also where the package reads.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import wengert as torch
from tests.cuda import fake
from wengert import nn

fake.install()
#: Functions that only look at memory in another way, or at no element.
LOOKS = frozenset(("broadcast_to", "broadcast_arrays", "transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze",
    "reshape", "ravel", "diagonal", "flip", "split", "may_share_memory", "shares_memory", "result_type", "can_cast"))


class Counts:
    """While it is ``on``, what happens to the arrays of the fake device."""

    def __init__(self) -> None:
        self.on, self.of, self.places = False, Counter[str](), Counter[str]()

    def note(self, kind: str) -> None:
        if self.on:
            self.of[kind] += 1
            if kind == "reads":
                here = [f for f in traceback.extract_stack()
                    if "wengert" in Path(f.filename).parts and not f.filename.endswith("foreign.py")]
                self.places[f"{Path(here[-1].filename).name}:{here[-1].lineno}" if here else "?"] += 1

    def watch(self, kind: str, name: str, counts: Any = lambda array, found, *args: True) -> None:
        """Count the calls of a method whose arguments and result ``counts`` says yes to."""
        method = getattr(fake.FakeArray, name)

        def watched(array: Any, *args: Any, **options: Any) -> Any:
            if kind == "reads":
                self.note(kind)
            found = method(array, *args, **options)
            if kind != "reads" and counts(array, found, *args):
                self.note(kind)
            return found

        setattr(fake.FakeArray, name, watched)


def watched() -> Counts:
    """Counts of the fake device's arrays from here on."""
    counts = Counts()
    for name in ("__bool__", "__int__", "__float__", "__complex__", "__index__", "item", "download"):
        counts.watch("reads", name)
    counts.watch("launches", "_called", lambda array, found, call, *rest: getattr(call, "__name__", "") not in LOOKS)
    counts.watch("launches", "astype", lambda array, found, *args: found is not array)
    counts.watch("launches", "copy")
    counts.watch("launches", "__setitem__")
    counts.watch("launches", "__getitem__", lambda array, found, key: getattr(found, "base", array) is None)
    upload = fake.FakeArray.upload

    def uploaded(cls: Any, array: Any) -> Any:
        counts.note("uploads")
        return upload(array)

    fake.FakeArray.upload = classmethod(uploaded)  # type: ignore[method-assign,assignment]
    return counts


class Block(nn.Module):
    """A transformer's block with causal attention."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.before, self.between = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

    def forward(self, x: Any) -> Any:
        n, length, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        x = x + self.out(seen.reshape(n, length, width))
        return x + self.mlp(self.between(x))


class Gpt(nn.Module):
    """Two blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 32, padding_idx=0), nn.Embedding(16, 32)
        self.blocks, self.head = nn.Sequential(Block(), Block(), nn.LayerNorm(32)), nn.Linear(32, 50)

    def forward(self, tokens: Any) -> Any:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.blocks(self.tokens(tokens) + self.places(places)))


class Lstm(nn.Module):
    """Two layers and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.out = nn.LSTM(8, 16, 2, batch_first=True), nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        return self.out(self.lstm(x)[0][:, -1])


def models() -> dict[str, tuple[Any, Any, Any, Any]]:
    """Model, input, classes and optimizer."""
    optim, draw = torch.optim, torch.randint
    layers = (nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 10))
    cnn = (nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, padding=1),
        nn.GroupNorm(2, 8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    return {
        "mlp": (nn.Sequential(*layers), torch.randn(4, 8), draw(0, 10, (4,)), optim.Adam),
        "cnn": (nn.Sequential(*cnn), torch.randn(2, 3, 8, 8), draw(0, 10, (2,)),
            lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-4)),
        "gpt": (Gpt(), draw(0, 50, (2, 16)), draw(0, 50, (2, 16)), optim.AdamW),
        "lstm": (Lstm(), torch.randn(2, 5, 8), draw(0, 10, (2,)), optim.RMSprop),
    }


def main() -> None:
    """Count the third step of each model."""
    torch.manual_seed(0)
    counts, found = watched(), {}
    for name, (model, x, classes, optimizer) in models().items():
        model, x, classes = model.to("cuda"), x.to("cuda"), classes.to("cuda")
        update = optimizer(model.parameters())
        counts.of.clear()
        for step in range(3):
            counts.on = step == 2
            update.zero_grad()
            loss = nn.functional.cross_entropy(model(x).flatten(0, -2), classes.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            update.step()
        counts.on = False
        found[name] = dict(counts.of)
    print(json.dumps(found))
    if "--where" in sys.argv:
        print(counts.places.most_common())


if __name__ == "__main__":
    main()
