"""Calls with integers at the limits of 32 and 64 bits wherever a size, a stride, a dimension or a count is taken.

    python huge_program.py FIRST LAST REPORT

The program that ``test_huge_integers.py`` runs in a process of its own; see ``fuzz_program.py`` for the report.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import fuzz_program as fuzz

import wengert as torch

VALUES = (0, -1, 2**31 - 1, 2**31, 2**62, 2**63 - 1, 2**63, -(2**63))
# ``n`` is the value; x a tensor of (1, 1, 5, 5), w one of (1, 1, 3, 3), v one of four numbers.
CALLS = """
F.unfold(x, n) ; F.unfold(x, 3, n) ; F.unfold(x, 3, 1, n) ; F.unfold(x, 3, 1, (1, n)) ; F.unfold(x, 3, 1, 0, n) ;
F.unfold(x, (n, 1), 1, (n, 0)) ; F.unfold(x.to(torch.float16), 3, 1, (1, n)) ;
F.unfold(x.to(torch.complex64), 3, 1, 1, n) ; F.fold(c, n, 3) ; F.fold(c, 5, n) ; F.fold(c, 5, 3, n) ;
F.fold(c, 5, 3, 1, n) ; F.fold(c, 5, 3, 1, 0, n) ; F.fold(c, (n, 5), 3, 1, (n, 0)) ; F.max_pool1d(x[0], n) ;
F.max_pool1d(x[0], 3, n) ; F.max_pool1d(x[0], 3, 1, n) ; F.max_pool1d(x[0], 3, 1, 0, n) ;
F.max_pool1d(x[0], n, 1, n // 2) ; F.max_pool2d(x, n) ; F.max_pool2d(x, 3, n) ; F.max_pool2d(x, 3, 1, n) ;
F.max_pool2d(x, 3, 1, 0, n) ; F.max_pool2d(x, n, 1, n // 2) ; F.max_pool2d(x, n, n, n // 2) ;
F.max_pool2d(x.long(), n, n, n // 2) ; F.max_pool2d(x, (n, 1), 1, (n // 2, 0), 1, True) ; F.max_pool2d(x, 2, 1, 1, n) ;
F.max_pool3d(x, n) ; F.max_pool3d(x, n, 1, n // 2) ; F.max_pool3d(x, 3, n, 1) ; F.max_pool3d(x, 2, 1, 1, n) ;
F.avg_pool1d(x[0], n) ; F.avg_pool1d(x[0], 3, n) ; F.avg_pool1d(x[0], n, 1, n // 2) ; F.avg_pool2d(x, n) ;
F.avg_pool2d(x, 3, n) ; F.avg_pool2d(x, 3, 1, n) ; F.avg_pool2d(x, n, n, n // 2) ;
F.avg_pool2d(x, n, n, n // 2, True, False) ; F.avg_pool2d(x, 3, 1, 0, divisor_override=n) ;
F.avg_pool3d(x, n, 1, n // 2) ; F.avg_pool2d(x.to(torch.bfloat16), n, n, n // 2) ; F.lp_pool1d(x[0], 2, n) ;
F.lp_pool2d(x, 2, n) ; F.lp_pool2d(x, 2, 3, n) ; F.lp_pool2d(x, n, 3) ; F.adaptive_avg_pool1d(x[0], n) ;
F.adaptive_avg_pool2d(x, n) ; F.adaptive_avg_pool3d(x, n) ; F.adaptive_max_pool1d(x[0], n) ;
F.adaptive_max_pool2d(x, n) ; F.fractional_max_pool2d(x, n, output_size=2) ;
F.fractional_max_pool2d(x, 2, output_size=n) ; F.max_unpool2d(x, x.long(), n) ; F.max_unpool2d(x, x.long(), 2, n) ;
F.max_unpool2d(x, x.long(), 2, 2, n) ; F.max_unpool2d(x, x.long(), 2, 2, 0, (n, n)) ; F.conv1d(x[0], w[0], None, n) ;
F.conv1d(x[0], w[0], None, 1, n) ; F.conv1d(x[0], w[0], None, 1, 0, n) ; F.conv1d(x[0], w[0], None, 1, 0, 1, n) ;
F.conv2d(x, w, None, n) ; F.conv2d(x, w, None, 1, n) ; F.conv2d(x, w, None, 1, (0, n)) ; F.conv2d(x, w, None, 1, 0, n) ;
F.conv2d(x, w, None, 1, 0, 1, n) ; F.conv2d(x, w, None, n, n, n) ; F.conv2d(x.double(), w.double(), None, n, n) ;
F.conv3d(x[None], w[None], None, n) ; F.conv3d(x[None], w[None], None, 1, n) ; F.conv_transpose2d(x, w, None, n) ;
F.conv_transpose2d(x, w, None, 1, n) ; F.conv_transpose2d(x, w, None, 1, 0, n) ;
F.conv_transpose2d(x, w, None, 1, 0, 0, n) ; F.conv_transpose2d(x, w, None, 1, 0, 0, 1, n) ;
F.conv_transpose1d(x[0], w[0], None, n) ; F.conv_transpose1d(x[0], w[0], None, 2, 0, n) ; F.pad(x, (n, 0)) ;
F.pad(x, (0, n)) ; F.pad(x, (n, n, n, n)) ; F.pad(x, (n, 0, 0, 0), mode="reflect") ;
F.pad(x, (0, n, 0, 0), mode="replicate") ; F.pad(x, (n, n, 0, 0), mode="circular") ; F.interpolate(x, n) ;
F.interpolate(x, (n, 1), mode="bilinear") ; F.interpolate(x, scale_factor=n) ; F.interpolate(x, n, mode="area") ;
F.interpolate(x, (1, n), mode="bicubic") ; F.pixel_shuffle(x, n) ; F.pixel_unshuffle(x, n) ; F.channel_shuffle(x, n) ;
F.one_hot(v.long(), n) ; F.glu(x, n) ; F.softmax(x, n) ; F.log_softmax(x, n) ; F.normalize(x, 2, n) ;
F.group_norm(x, n) ; F.layer_norm(x, (n,)) ; F.rms_norm(x, (n,)) ; F.local_response_norm(x, n) ;
F.cosine_similarity(x, x, n) ; F.gumbel_softmax(x, dim=n) ; F.embedding(v.long(), v[:, None], n) ;
F.embedding(v.long() * n, v[:, None]) ; F.affine_grid(w[:, 0, :2], (1, 1, n, 2)) ;
F.cross_entropy(v[None], torch.tensor([0]), ignore_index=n) ; F.nll_loss(v[None], torch.tensor([0]), ignore_index=n) ;
torch.zeros(n) ; torch.ones(n, 2) ; torch.empty(n) ; torch.full((n,), 1) ; torch.rand(n) ; torch.randn(n, n) ;
torch.randperm(n) ; torch.arange(n) ; torch.arange(0, n, n) ; torch.arange(-n, n, 1) ; torch.linspace(0, 1, n) ;
torch.logspace(0, 1, n) ; torch.eye(n) ; torch.eye(2, n) ; torch.tril_indices(n, n) ; torch.tril_indices(3, 3, n) ;
torch.triu_indices(n, 3) ; torch.triu_indices(3, 3, n) ; torch.hann_window(n) ; torch.bartlett_window(n) ;
torch.kaiser_window(n) ; torch.randint(n, (2,)) ; torch.randint(0, n, (2,)) ; torch.randint(2, (n,)) ;
torch.normal(0, 1, (n,)) ; torch.empty_strided((2,), (n,)) ; torch.empty_strided((n,), (1,)) ; torch.range(0, n) ;
torch.zeros_like(x).new_zeros(n) ; torch.zeros_like(x).new_full((n,), 1) ; torch.vander(v, n) ;
torch.combinations(v, n) ; torch.bincount(v.long(), minlength=n) ; torch.bincount(v.long() * n) ; torch.histc(v, n) ;
torch.histogram(v, n) ; torch.multinomial(v, n, True) ; torch.multinomial(v, n) ; torch.cartesian_prod(v, v) ;
x.repeat(n, 1, 1, 1) ; x.repeat(1, 1, 1, n) ; x.tile(n) ; x.repeat_interleave(n) ; x.repeat_interleave(n, 3) ;
torch.repeat_interleave(torch.tensor([n])) ; x.expand(n, 1, 5, 5) ; x.expand(1, n, 5, 5) ; x.roll(n) ; x.roll(n, 3) ;
x.roll(1, n) ; x.rot90(n) ; x.rot90(1, (n, 3)) ; x.flip(n) ; x.unfold(n, 1, 1) ; x.unfold(3, n, 1) ; x.unfold(3, 2, n) ;
x.diagonal(n) ; x.diagonal(0, n, 3) ; x.diag_embed(n) ; torch.diag(v, n) ; torch.diagflat(v, n) ; x[0, 0].diag(n) ;
x.tril(n) ; x.triu(n) ; x.clone().tril_(n) ; x.narrow(n, 0, 1) ; x.narrow(3, n, 1) ; x.narrow(3, 1, n) ;
x.select(n, 0) ; x.select(3, n) ; x.split(n) ; x.split(2, n) ; x.split((n, 5 - n), 3) ; x.chunk(n) ; x.chunk(2, n) ;
x.tensor_split(n) ; x.tensor_split((n,)) ; x.tensor_split(2, n) ; x.hsplit(n) ; x.unbind(n) ; x.sum(n) ; x.sum((n, 0)) ;
x.mean(n) ; x.prod(n) ; x.std(n) ; x.var(n, correction=n) ; x.amax(n) ; x.max(n) ; x.argmax(n) ; x.any(n) ; x.all(n) ;
x.logsumexp(n) ; x.norm(n) ; x.norm(2, n) ; x.median(n) ; x.mode(n) ; x.kthvalue(n) ; x.kthvalue(1, n) ; x.topk(n) ;
x.topk(1, n) ; x.sort(n) ; x.argsort(n) ; x.cumsum(n) ; x.cumprod(n) ; x.cummax(n) ; x.logcumsumexp(n) ; x.diff(n) ;
x.diff(1, n) ; x.squeeze(n) ; x.unsqueeze(n) ; x.flatten(n) ; x.flatten(0, n) ; x.unflatten(3, (n, 5)) ;
x.unflatten(n, (1, 5)) ; x.movedim(n, 0) ; x.transpose(n, 0) ; x.permute(n, 0, 1, 2) ; x.swapdims(0, n) ; x.view(n) ;
x.view(-1, n) ; x.reshape(n, -1) ; x.reshape(n, n) ; x.resize_(n) ; x.clone().resize_(n, n) ; x.as_strided((n,), (1,)) ;
x.as_strided((2,), (n,)) ; x.as_strided((2,), (1,), n) ; x.as_strided((n,), (n,)) ; x.new_empty((n, n)) ;
x.gather(n, x.long()) ; x.gather(3, x.long() * n) ; x.index_select(3, torch.tensor([n])) ;
x.index_select(n, torch.tensor([0])) ; x[n] ; x[..., n] ; x[n:] ; x[:n] ; x[::n] ; x[..., ::n] ;
x.take(torch.tensor([n])) ; torch.take_along_dim(x, x.long() * n, 3) ; x.clone().index_fill_(n, torch.tensor([0]), 1) ;
x.clone().index_fill_(3, torch.tensor([n]), 1) ; x.clone().scatter_(n, x.long(), 1) ;
x.clone().scatter_(3, x.long() * n, 1) ; x.clone().fill_diagonal_(n) ; torch.cat((x, x), n) ; torch.stack((x, x), n) ;
torch.cross(v[:3], v[:3], n) ; torch.tensordot(x, x, n) ; torch.trapezoid(x, dim=n) ; torch.nanmean(x, n) ;
torch.count_nonzero(x, n) ; torch.fft.fft(x, n) ; torch.fft.fft(x, 3, n) ; torch.fft.ifft(x, n) ; torch.fft.rfft(x, n) ;
torch.fft.irfft(x, n) ; torch.fft.fft2(x, (n, n)) ; torch.fft.fftn(x, dim=(n,)) ; torch.fft.fftfreq(n) ;
torch.fft.rfftfreq(n) ; torch.fft.fftshift(x, n) ; torch.stft(v, n, return_complex=True) ;
torch.stft(v, 2, n, return_complex=True) ; torch.linalg.matrix_power(w[0, 0], n) ; torch.linalg.norm(x[0, 0], n) ;
torch.linalg.vector_norm(x, n) ; torch.linalg.vector_norm(x, 2, n) ; torch.linalg.matrix_norm(x, "fro", (n, 0)) ;
torch.linalg.cond(w, n) ; torch.linalg.vander(v, N=n) ; torch.linalg.diagonal(w, offset=n) ;
torch.linalg.tensorinv(w, n) ; torch.polygamma(n, v) ; torch.mvlgamma(v + 9, n) ; torch.special.multigammaln(v + 9, n) ;
torch.special.polygamma(n, v) ; torch.special.softmax(v, n) ; torch.special.chebyshev_polynomial_t(v, n) ;
torch.special.hermite_polynomial_h(v, n) ; torch.pow(v, n) ; torch.pow(v.long(), n) ; torch.pow(n, v) ; v.long() << n ;
v.long() >> n ; v.long() + n ; v.long() * n ; v.long() // n ; v.long() % n ; v + n ; v.clamp(n) ; v.clone().fill_(n) ;
v.long().fill_(n) ; torch.tensor(n) ; torch.tensor([n]) ; v == n ; v.long() == n ; torch.full((2,), n) ;
torch.add(v, v, alpha=n) ; torch.addmm(w[0, 0], w[0, 0], w[0, 0], beta=n) ; torch.cdist(x, x, n) ;
torch.pdist(x[0, 0], n) ; torch.dist(x, x, n) ; torch.renorm(x, n, 0, 1) ; torch.renorm(x, 2, n, 1) ;
torch.bucketize(v, v.sort()[0]) ; torch.set_num_threads(n) ; torch.round(v, decimals=n) ; torch.isin(v, n) ;
torch.quantile(v, 0.5, n) ; torch.searchsorted(v, n) ; torch.block_diag(v) ; torch.atleast_3d(v) ;
torch.unique(v, dim=n) ; torch.unique_consecutive(v, dim=n) ; torch.nn.utils.rnn.pad_sequence([v, v], padding_value=n) ;
torch.nn.functional.scaled_dot_product_attention(x, x, x, scale=n) ; torch.nn.PixelShuffle(n)(x) ;
torch.nn.Linear(n, 2) ; torch.nn.Conv2d(n, 1, 1) ; torch.nn.Conv2d(1, 1, n) ; torch.nn.Embedding(n, 2) ;
torch.nn.LSTM(n, 2) ; torch.nn.LSTM(2, n) ; torch.nn.BatchNorm2d(n) ; torch.utils.data.RandomSampler([1, 2], True, n) ;
torch.sparse_coo_tensor(torch.tensor([[0]]), torch.tensor([1.0]), (n,)) ; torch.triu_indices(n, n, n)
"""


def expressions() -> list[str]:
    """The calls, one after the other."""
    return [text.strip() for text in CALLS.split(" ;")]


def main(first: int, last: int, report: str) -> None:
    fuzz.restrict()
    out = sys.stdout if report == "-" else open(report, "a")  # noqa: SIM115
    at_file = None if report == "-" else os.open(report + ".at", os.O_RDWR | os.O_CREAT)
    calls = [(text, n) for text in expressions() for n in VALUES]
    done = 0
    for at, (text, n) in list(enumerate(calls))[first:last]:
        if at_file is not None:
            os.pwrite(at_file, b"%12d" % at, 0)
        scope: dict[str, Any] = dict(
            torch=torch,
            F=torch.nn.functional,
            n=n,
            x=torch.ones(1, 1, 5, 5),
            w=torch.ones(1, 1, 3, 3),
            v=torch.ones(4),
            c=torch.ones(1, 9, 9),
        )
        if report == "-":
            print(at, text, n, flush=True)
        fuzz.limit(fuzz.SECONDS)
        try:
            eval(text, scope)
        except Exception as error:
            if fuzz.internal(error):
                told = {"call": at, "text": f"{text}, n = {n}", "found": f"{type(error).__name__}: {error}"[:300]}
                print(json.dumps(told), file=out, flush=True)
        fuzz.limit(0)
        done += 1
    print(json.dumps({"calls": done, "of": len(calls)}), file=out, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
