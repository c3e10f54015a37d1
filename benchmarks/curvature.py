"""``wengert.curvature`` beside curvlinops on PyTorch: ``python -m benchmarks.curvature [NAME ...] [--rows WORD ...]``.

The same network, parameters and data in both libraries, in one process, on one thread; both take turns, and the least
processor time of each counts. Printed for each network and quantity: milliseconds of either, their ratio (ours over
theirs), and by how much results differ where both compute the same numbers. Needs ``curvlinops-for-pytorch`` and
``backpack-for-pytorch`` beside this package. The Hessian's operator of this package keeps the graph of a small batch
from one product to the next; "first" is a product without such a graph. Set ``OMP_NUM_THREADS=1``.

curvlinops has no influence functions: theirs is made of its Gauss–Newton matrix, of the conjugate gradients that it
solves with, 20 of them at most (ours need 7 to 17), and of PyTorch's gradients of single examples (``vmap`` of
``grad``; for the LSTM, which that cannot, one after the other).
"""

from __future__ import annotations

import argparse
import contextlib
import time
import warnings

import numpy as np

import wengert
from wengert import curvature

NAMES = {
    "logistic": "logistic regression", "three": "three layers of 64", "small": "two small convolutions",
    "five": "five layers of 256", "convolutions": "three convolutions", "tiny": "small GPT", "gpt": "GPT, 64 wide",
    "lstm": "LSTM of 256",
}


def parts(torch):
    """The modules that are not in ``nn``."""
    nn = torch.nn

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.head = nn.LSTM(64, 256, batch_first=True), nn.Linear(256, 10)

        def forward(self, x):
            return self.head(self.layer(x)[0][:, -1])

    class Attention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads

        def forward(self, x):
            batch, time, width = x.shape
            q, k, v = self.qkv(x).reshape(batch, time, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
            later = torch.ones(time, time).tril() == 0
            weights = scores.masked_fill(later, float("-inf")).softmax(-1)
            return self.out((weights @ v).transpose(1, 2).reshape(batch, time, width))

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self, vocabulary, width, heads, layers, length):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Parameter(torch.randn(length, width) * 0.02)
            self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, index):
            return self.head(self.norm(self.blocks(self.tokens(index) + self.places))).transpose(1, 2)

    return Recurrent, GPT


def network(torch, name):
    """The model, an input, and the targets."""
    nn = torch.nn
    Recurrent, GPT = parts(torch)
    torch.manual_seed(0)
    if name in ("tiny", "gpt"):
        count, length, rows, model = (16, 8, 4, GPT(16, 16, 2, 1, 8)) if name == "tiny" else (
            64, 32, 8, GPT(64, 64, 4, 2, 32))
        return model, torch.randint(0, count, (rows, length)), torch.randint(0, count, (rows, length))
    if name == "logistic":
        model, x, classes = nn.Linear(30, 2), torch.randn(200, 30), 2
    elif name == "three":
        model, x, classes = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 10)), torch.randn(64, 20), 10
    elif name == "five":
        layers = [m for _ in range(4) for m in (nn.Linear(256, 256), nn.Tanh())]
        model, x, classes = nn.Sequential(*layers, nn.Linear(256, 10)), torch.randn(256, 256), 10
    elif name == "small":
        model, x, classes = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.ReLU(),
            nn.Flatten(), nn.Linear(8 * 4 * 4, 10)), torch.randn(16, 1, 14, 14), 10
    elif name == "convolutions":
        model, x, classes = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 64, 10)), torch.randn(16, 3, 32, 32), 10
    else:
        model, x, classes = Recurrent(), torch.randn(32, 32, 64), 10
    return model, x, torch.randint(0, classes, (len(x),))


def seconds(function, times):
    """Of one call."""
    begin = time.process_time()
    for _ in range(times):
        function()
    return (time.process_time() - begin) / times


def compare(name, row, ours, theirs, rounds):
    """Print a row: both take turns."""
    try:
        mine = ours()
    except ValueError as error:
        print(f"| {name} | {row} | refused: {str(error)[:60]} |", flush=True)
        return
    try:
        other = theirs()
    except Exception as error:  # whatever they refuse with
        print(f"| {name} | {row} | theirs: {type(error).__name__} {str(error)[:60]} |", flush=True)
        return
    times = max(1, min(20, int(0.03 / max(seconds(ours, 1), 1e-5))))
    pairs, begin = [], time.process_time()
    while len(pairs) < rounds and not (len(pairs) > 1 and time.process_time() - begin > 20):
        pairs.append((seconds(ours, times), seconds(theirs, times)))
    a, b = (1000 * min(column) for column in zip(*pairs))
    text = ""
    if mine is not None and other is not None:
        mine, other = (np.asarray(x.detach() if hasattr(x, "detach") else x) for x in (mine, other))
        text = f"{abs(mine - other).max() / abs(other).max():.1e}"
    print(f"| {name} | {row} | {a:.3f} | {b:.3f} | {a / b:.2f} | {text} |", flush=True)


def unkept(operator, vectors):
    """A product that makes its graph anew."""
    def run():
        operator._kept = type(operator._kept)()
        return operator @ vectors
    return run


def quietly(function, *args):
    """A function of which no result is compared."""
    def run():
        function(*args)
    return run


class Both:
    """A network in both libraries, and rows of what to compare: name, ours, theirs."""

    def __init__(self, name):
        import curvlinops
        import torch

        torch.set_num_threads(1)
        wengert.set_num_threads(1)
        self.torch, self.lib = torch, curvlinops
        self.theirs, self.tx, self.ty = network(torch, name)
        self.ours, _, _ = network(wengert, name)
        self.ours.load_state_dict({k: wengert.tensor(v.numpy()) for k, v in self.theirs.state_dict().items()})
        self.x, self.y = wengert.tensor(self.tx.numpy()), wengert.tensor(self.ty.numpy())
        self.loss, self.tloss = wengert.nn.CrossEntropyLoss(), torch.nn.CrossEntropyLoss()
        self.params = list(self.theirs.parameters())
        self.size = sum(p.numel() for p in self.theirs.parameters())
        self.vector = np.random.default_rng(0).standard_normal(self.size).astype(np.float32)

    def make(self, name, /, **options):
        """Our operator."""
        return getattr(curvature, name)(self.ours, self.loss, [(self.x, self.y)], **options)

    def make_theirs(self, name, /, **options):
        """Theirs."""
        return getattr(self.lib, name + "LinearOperator")(self.theirs, self.tloss, self.params, [(self.tx, self.ty)],
            check_deterministic=False, **options)

    def rows(self):
        """All of them, made when they are asked for."""
        yield from self.products()
        yield from self.estimates()
        yield from self.factors()
        yield "influence", self.influence, self.their_influence

    def products(self):
        hessian, other = self.make("Hessian"), self.make_theirs("Hessian")
        many = np.random.default_rng(0).standard_normal((self.size, 8)).astype(np.float32)
        one, eight = self.torch.from_numpy(self.vector), self.torch.from_numpy(many)
        yield "Hessian, first", unkept(hessian, self.vector), lambda: other @ one
        yield "Hessian, further", lambda: hessian @ self.vector, lambda: other @ one
        yield "Hessian, 8 vectors at once", unkept(hessian, many), lambda: other @ eight
        for text, ours, kind, options in (
            ("Gauss–Newton, first", self.make("GGN"), "GGN", {}),
            ("Fisher, 3 samples", self.make("Fisher", kind="sampled", samples=3), "FisherMC", {"mc_samples": 3}),
            ("Fisher, empirical", self.make("Fisher", kind="empirical"), "EF", {}),
        ):
            matrix = self.make_theirs(kind, **options)
            run, their_run = unkept(ours, self.vector), lambda matrix=matrix: matrix @ one
            yield text, *((quietly(run), quietly(their_run)) if options else (run, their_run))

    def estimates(self):
        from scipy.sparse.linalg import eigsh

        H, T, lib = self.make("Hessian"), self.make_theirs("Hessian"), self.lib
        yield "trace, 20 samples", quietly(curvature.trace, H, 20), quietly(lib.hutchinson_trace, T, 20)
        yield "trace, Hutch++, 21", lambda: curvature.trace(H, 21, method="hutch++") and None, \
            quietly(lib.hutchpp_trace, T, 21)
        yield "diagonal, 20 samples", quietly(curvature.diagonal, H, 20), quietly(lib.hutchinson_diag, T, 20)
        yield "spectral density, 2 probes of 20 steps", lambda: curvature.spectral_density(H, 20, 2) and None, \
            lambda: lib.lanczos_approximate_spectrum(T, 20, num_repeats=2, boundaries=(-1.0, 10.0)) and None
        yield "3 eigenpairs (theirs by SciPy's `eigsh`)", lambda: curvature.eigenpairs(H, 3).values, \
            lambda: eigsh(T.to_scipy(), 3, which="LA")[0][::-1]

    def factors(self):
        for ours, theirs in (("exact", "type-2"), ("sampled", "mc"), ("empirical", "empirical")):
            yield f"K-FAC, {ours}", quietly(lambda kind=ours: self.make("KFAC", kind=kind)), \
                quietly(lambda kind=theirs: self.their_factors(kind) @ self.torch.from_numpy(self.vector))
        yield "K-FAC and its inverse, times a vector", lambda: self.make("KFAC").inverse(1e-2) @ self.vector, \
            lambda: self.lib.KFACInverseLinearOperator(self.their_factors("type-2"), damping=1e-2,
                use_exact_damping=True) @ self.torch.from_numpy(self.vector)

    def their_factors(self, kind):
        return self.make_theirs("KFAC", fisher_type=kind, separate_weight_and_bias=False)

    def influence(self):
        return curvature.influence(self.ours, self.loss, [(self.x, self.y)], [(self.x[:2], self.y[:2])], damping=0.1)

    def their_influence(self):
        from linear_operator.utils.linear_cg import linear_cg  # what curvlinops solves with

        torch, func = self.torch, self.torch.func
        named = dict(self.theirs.named_parameters())
        values = {k: p.detach() for k, p in named.items()}
        rows = self.ty[0].numel()

        def loss(p, x, y):
            return self.tloss(func.functional_call(self.theirs, p, (x[None],)), y[None]) * rows

        def gradients(x, y):
            if any(isinstance(m, torch.nn.LSTM) for m in self.theirs.modules()):  # which vmap cannot
                each = [torch.autograd.grad(loss(named, *pair), list(named.values())) for pair in zip(x, y)]
                return torch.stack([torch.cat([g.flatten() for g in row]) for row in each])
            found = func.vmap(func.grad(loss), (None, 0, 0))(values, x, y)
            return torch.cat([found[k].flatten(1) for k in values], 1)

        matrix = self.make_theirs("GGN")
        solved = linear_cg(lambda v: matrix @ v + 0.1 * v, gradients(self.tx[:2], self.ty[:2]).T,
            tolerance=64 * torch.finfo(torch.float32).eps, max_iter=20, max_tridiag_iter=0)
        return -(gradients(self.tx, self.ty) @ solved).detach()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="networks; all without")
    parser.add_argument("--rows", nargs="*", default=[], help="only rows with one of these words")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| network | quantity | ours, ms | theirs, ms | ratio | difference |")
    print("|---|---|---|---|---|---|")
    for name in args.names or NAMES:
        both = Both(name)
        with contextlib.ExitStack() as stack:
            if name == "lstm":  # oneDNN's has no second derivatives
                stack.enter_context(both.torch.backends.mkldnn.flags(enabled=False))
            for row, ours, theirs in both.rows():
                if not args.rows or any(word.lower() in row.lower() for word in args.rows):
                    compare(NAMES[name], row, ours, theirs, args.rounds)


if __name__ == "__main__":
    main()
