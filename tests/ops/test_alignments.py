"""``ctc_loss``: alignments one by one, lengths and targets in every form, what cannot be aligned, what is refused."""

from __future__ import annotations

import itertools
import math

import pytest

INF = math.inf


def given(torch, steps, batch, kinds, dtype=None, seed=0):
    torch.manual_seed(seed)
    return torch.randn(steps, batch, kinds, dtype=dtype or torch.float64).log_softmax(2).requires_grad_()


def one_by_one(scores, labels, blank):
    """Minus the logarithm of the sum over all rows of states that come down to the labels."""
    total = 0.0
    for path in itertools.product(range(len(scores[0])), repeat=len(scores)):
        runs = [k for k, _ in itertools.groupby(path)]
        if [k for k in runs if k != blank] == labels:
            total += math.exp(sum(row[k] for row, k in zip(scores, path)))
    return -math.log(total) if total else INF


@pytest.mark.parametrize("labels", [[], [1], [2, 1], [1, 1], [1, 2, 1], [1, 1, 1], [2, 2, 1, 0]])
@pytest.mark.parametrize("blank", [0, 1, 3])
def test_all_alignments_are_counted(torch, labels, blank):
    labels = [(k + blank + 1) % 4 if k == blank else k for k in labels]
    x = given(torch, 5, 1, 4)
    loss = torch.nn.functional.ctc_loss(x, torch.tensor([labels]).long(), (5,), (len(labels),), blank, "none")
    assert loss.grad_fn.name() == "CtcLossBackward0"
    assert loss.item() == pytest.approx(one_by_one(x[:, 0].tolist(), labels, blank), rel=1e-12)


def test_targets_and_lengths_in_every_form(torch):
    F, x, lengths, sizes = torch.nn.functional, given(torch, 7, 3, 5), (7, 4, 6), (3, 1, 2)
    rows = torch.tensor([[1, 2, 2], [3, 9, -4], [4, 1, 77]])  # padded with anything
    want = F.ctc_loss(x, rows, lengths, sizes, reduction="none")
    flat = torch.tensor([1, 2, 2, 3, 4, 1])
    for targets, dtype in itertools.product((rows, flat), (torch.int64, torch.int32)):
        for ls, ss in ((lengths, sizes), (torch.tensor(lengths), torch.tensor(sizes))):
            assert torch.equal(F.ctc_loss(x, targets.to(dtype), ls, ss, reduction="none"), want)
    assert torch.allclose(F.ctc_loss(x, rows, lengths, sizes, reduction="sum"), want.sum())
    assert torch.allclose(F.ctc_loss(x, rows, lengths, sizes), (want / torch.tensor(sizes)).mean())
    for i, (n, s) in enumerate(zip(lengths, sizes)):
        alone = F.ctc_loss(x[:, i], rows[i, :s], torch.tensor(n), torch.tensor(s), reduction="none")
        assert alone.shape == () and torch.allclose(alone, want[i])
    (g,) = torch.autograd.grad(want.sum(), x)
    turned = x.detach().transpose(0, 1).contiguous().transpose(0, 1).requires_grad_()  # rows in another order
    reversed_ = x.detach().flip(2).contiguous().flip(2).requires_grad_()
    for y in (turned, reversed_):
        (found,) = torch.autograd.grad(F.ctc_loss(y, rows, lengths, sizes, reduction="sum"), y)
        assert torch.equal(found, g)
    assert not g[4:, 1].any() and not g[6:, 2].any() and g[3, 1].all()


def test_what_cannot_be_aligned_and_what_has_no_steps(torch):
    F, x = torch.nn.functional, given(torch, 3, 4, 3)
    targets, lengths, sizes = torch.tensor([[1, 1], [1, 2], [1, 1], [2, 1]]), (2, 2, 0, 0), (2, 2, 1, 0)
    for zero in (False, True):
        loss = F.ctc_loss(x, targets, lengths, sizes, reduction="none", zero_infinity=zero)
        hopeless = 0.0 if zero else INF
        assert loss.tolist() == [hopeless, -x[0, 1, 1].item() - x[1, 1, 2].item(), hopeless, 0.0]
        (g,) = torch.autograd.grad(loss.sum(), x)
        assert g[:2, 0].isnan().all() if not zero else not g[:, 0].any()
        assert not g[2].any() and not g[:, 2:].any() and g[:2, 1].isfinite().all()


def test_impossible_labels_have_no_gradient(torch):
    x = given(torch, 3, 1, 3).detach()
    x[1, 0, 2] = -INF
    x.requires_grad_()
    loss = torch.nn.functional.ctc_loss(x, torch.tensor([[1]]), (3,), (1,), reduction="sum")
    loss.backward()
    assert loss.isfinite()
    assert x.grad.isnan().nonzero().tolist() == [[1, 0, 2]]
    x.data[0] = math.nan
    assert torch.nn.functional.ctc_loss(x, torch.tensor([[1]]), (3,), (1,)).isnan()


REFUSED = {
    "flat": (lambda L: dict(targets=L([1, 2, 1])), "Expected tensor to have size 2 at dimension 0, but got size 3 for"),
    "batch": (lambda L: dict(targets=L([[1]])), "Expected tensor to have size 2 at dimension 0, but got size 1 for"),
    "short": (lambda L: dict(target_lengths=(1, 3)), "Expected tensor to have size at least 3 at dimension 1, but got"),
    "deep": (lambda L: dict(targets=L([[[1]]])), "Expected 1 to 2 dimensions, but got 3-dimensional tensor"),
    "number": (lambda L: dict(targets=L(1)), "Expected 1 to 2 dimensions, but got 0-dimensional tensor"),
    "long": (lambda L: dict(input_lengths=(3, 4)), "Expected input_lengths to have value at most 3, but got value 4"),
    "negative": (lambda L: dict(input_lengths=(3, -1)), "Expected input_lengths to have value at least 0, but got"),
    "fewer": (lambda L: dict(target_lengths=(-1, 1)), "Expected target_lengths to have value at least 0, but got"),
    "count": (lambda L: dict(input_lengths=(3,)), "^input_lengths must be of size batch_size$"),
    "sizes": (lambda L: dict(target_lengths=(1,)), "^target_lengths must be of size batch_size$"),
    "blank": (lambda L: dict(blank=3), "blank must be in label range"),
    "fractions": (lambda L: dict(target_lengths=L([1.0, 1.0]), input_lengths=L([3, 3])),
        "target_lengths must be integral"),
    "empty": (lambda L: dict(log_probs=L([[[]], [[]]])), "log_probs tensor must not be empty"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(torch, name):
    change, message = REFUSED[name]
    arguments = dict(log_probs=given(torch, 3, 2, 3), targets=torch.tensor([[1, 2], [2, 0]]), input_lengths=(3, 3),
        target_lengths=(1, 1))
    assert torch.nn.functional.ctc_loss(**arguments).isfinite()
    with pytest.raises(RuntimeError, match=message):
        torch.nn.functional.ctc_loss(**arguments | change(torch.tensor))


def test_half_precision_is_refused(torch):
    for dtype, name in ((torch.float16, "Half"), (torch.bfloat16, "BFloat16")):
        with pytest.raises(NotImplementedError, match=f"^\"ctc_loss_cpu\" not implemented for '{name}'"):
            torch.nn.functional.ctc_loss(given(torch, 3, 1, 3).to(dtype), torch.tensor([[1]]), (3,), (1,))


def test_what_the_node_remembers(torch):
    x, targets = given(torch, 4, 2, 3), torch.tensor([[1, 2], [2, 0]])
    loss = torch.nn.functional.ctc_loss(x, targets, (4, 3), (2, 1), reduction="none", zero_infinity=False)
    node = loss.grad_fn
    assert torch.equal(node._saved_log_probs, x) and torch.equal(node._saved_result0, loss)
    assert node._saved_input_lengths == (4, 3) and node._saved_target_lengths == (2, 1)
    assert node._saved_blank == 0 and node._saved_zero_infinity is False
    assert torch.equal(node._saved_targets, targets)
    loss.detach().zero_()
    if torch.__name__ == "wengert":  # a label that there is not: PyTorch reads what lies there
        for label in (3, -1):
            with pytest.raises(RuntimeError, match=f"index {label} is out of bounds for dimension 2 with size 3"):
                torch.nn.functional.ctc_loss(x, torch.tensor([[label], [1]]), (4, 3), (1, 1))


@pytest.mark.parametrize("zero", [False, True])
def test_second_derivatives(zero):
    import wengert as torch

    torch.manual_seed(1)
    x = torch.randn(6, 3, 4, dtype=torch.float64, requires_grad=True)
    targets, lengths = torch.tensor([[1, 1, 2], [3, 2, 1], [2, 2, 2]]), (6, 4, 5 if not zero else 4)
    sizes = (3, 0, 3)

    def loss(x):
        return torch.nn.functional.ctc_loss(x.log_softmax(2), targets, lengths, sizes, 0, "none", zero)

    assert loss(x).isfinite().all()
    assert torch.autograd.gradcheck(loss, x)
    assert torch.autograd.gradgradcheck(loss, x)
    (g,) = torch.autograd.grad(loss(x).sum(), x, create_graph=True)
    assert g.isfinite().all() and g[:, 2].any().item() is not zero


@pytest.mark.parity
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(40))
def test_values_and_gradients_are_those_of_pytorch(seed, dtype):
    import random

    import torch as other

    import wengert

    r = random.Random(seed)
    steps, batch, kinds = r.choice([1, 2, 9, 40]), r.choice([1, 2, 5]), r.choice([2, 3, 11, 40])
    most, blank = r.choice([0, 1, 3, 17]), r.randrange(kinds)
    sizes = tuple(r.randint(0, most) for _ in range(batch))
    lengths = tuple(r.randint(0, steps) for _ in range(batch))
    labels = [[r.choice([k for k in range(kinds) if k != blank] or [0]) for _ in range(most)] for _ in range(batch)]
    scores = [[[r.gauss(0, 3) for _ in range(kinds)] for _ in range(batch)] for _ in range(steps)]
    reduction, zero = r.choice(["none", "mean", "sum"]), r.random() < 0.5
    flat, factor = r.random() < 0.5, [r.gauss(0, 1) for _ in range(batch)]
    found = []
    for torch in (other, wengert):
        x = torch.tensor(scores, dtype=getattr(torch, dtype)).requires_grad_()
        targets = torch.tensor(labels, dtype=torch.int64).reshape(batch, most)
        if flat:
            targets = torch.tensor([k for row, n in zip(labels, sizes) for k in row[:n]], dtype=torch.int64)
        loss = torch.nn.functional.ctc_loss(x.log_softmax(2), targets, lengths, sizes, blank, reduction, zero)
        (loss * torch.tensor(factor, dtype=loss.dtype) if reduction == "none" else loss).sum().backward()
        found.append((loss.detach().reshape(-1).tolist(), x.grad.reshape(-1).tolist()))
    bound = 2e-4 if dtype == "float32" else 1e-10
    for theirs, ours in zip(*found):
        assert ours == pytest.approx(theirs, rel=bound, abs=bound, nan_ok=True)


def test_autocast_computes_it_in_single_precision(torch):
    x = given(torch, 5, 2, 3, torch.float32).detach().bfloat16().requires_grad_()
    targets = torch.tensor([[1, 2], [2, 0]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.ctc_loss(x, targets, (5, 4), (2, 1))
    assert loss.dtype == torch.float32
    assert torch.equal(loss, torch.nn.functional.ctc_loss(x.float(), targets, (5, 4), (2, 1)))
    loss.backward()
    assert x.grad.dtype == torch.bfloat16
