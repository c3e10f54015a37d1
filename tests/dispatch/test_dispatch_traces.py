"""Which operators dispatch modes see, with which arguments, in a forward and in its backward."""

from __future__ import annotations

import importlib

import pytest

LAST = 9223372036854775807
TRACES = {
    "x[0]": ("select.int(x,0,0)", "select_backward.default(g,[3,4],0,0)"),
    "x[:, 1]": ("select.int(x,1,1)", "select_backward.default(g,[3,4],1,1)"),
    "x[0, 1]": ("select.int(x,0,0) select.int(t,0,1)",
        "select_backward.default(g,[4],0,1) select_backward.default(g,[3,4],0,0)"),
    "x[1:]": (f"slice.Tensor(x,0,1,{LAST})", f"slice_backward.default(g,[3,4],0,1,{LAST},1)"),
    "x[0, 1:]": (
        f"select.int(x,0,0) slice.Tensor(t,0,1,{LAST})",
        f"slice_backward.default(g,[4],0,1,{LAST},1) select_backward.default(g,[3,4],0,0)",
    ),
    "x[::2]": (f"slice.Tensor(x,0,0,{LAST},2)", f"slice_backward.default(g,[3,4],0,0,{LAST},2)"),
    "x[None]": ("unsqueeze.default(x,0)", "squeeze.dim(g,0)"),
    "x[..., 0]": ("select.int(x,1,0)", "select_backward.default(g,[3,4],1,0)"),
    "x.narrow(0, 1, 2)": ("slice.Tensor(x,0,1,3)", "slice_backward.default(g,[3,4],0,1,3,1)"),
    "x.relu()": ("relu.default(x)", "threshold_backward.default(g,t,0)"),
    "F.softmax(x, -1)": ("_softmax.default(x,-1,False)", "_softmax_backward_data.default(g,t,-1,torch.float32)"),
    "F.log_softmax(x, 1)": ("_log_softmax.default(x,1,False)",
        "_log_softmax_backward_data.default(g,t,1,torch.float32)"),
    "F.gelu(x)": ("gelu.default(x)", "gelu_backward.default(g,x)"),
    "F.leaky_relu(x)": ("leaky_relu.default(x)", "leaky_relu_backward.default(g,x,0.01,False)"),
    "x.sum(0)": ("sum.dim_IntList(x,[0])", None),
    "x.mean(1)": ("mean.dim(x,[1])", None),
    "x.to(torch.float32, copy=True)": ("_to_copy.default(x)", None),
    "x[i]": ("index.Tensor(x,[i])", None),
}


@pytest.mark.parametrize("text", TRACES)
def test_traces(torch, text):
    dispatch = importlib.import_module(f"{torch.__name__}.utils._python_dispatch")
    x, i = torch.arange(12.0).reshape(3, 4).requires_grad_(), torch.tensor([0, 1])

    class Log(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func.__name__ != "detach.default":
                log.append(f"{str(func).removeprefix('aten.')}({','.join(map(shown, args))})")
            return func(*args, **(kwargs or {}))

    def shown(v):
        if isinstance(v, torch.Tensor):
            itself = v.data_ptr() == x.data_ptr() and v.shape == x.shape
            known = "x" if itself else "i" if v is i else "g" if gradient and not shown_in_call else "t"
            shown_in_call.append(known)
            return known
        return (str([shown(e) if isinstance(e, torch.Tensor) else e for e in v]).replace(" ", "").replace("'", "")
            if isinstance(v, list) else str(v))

    class Fresh(Log):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            shown_in_call.clear()
            return super().__torch_dispatch__(func, types, args, kwargs)

    log, shown_in_call, gradient = [], [], False
    with Fresh():
        y = eval(text, {"torch": torch, "F": torch.nn.functional, "x": x, "i": i})
    forward, backward = TRACES[text]
    assert " ".join(log) == forward
    if backward is not None:
        log, gradient = [], True
        g = torch.ones_like(y)
        with Fresh():
            y.backward(g)
        assert " ".join(log) == backward


def test_modes_further_out_see_the_same_operators(torch):
    dispatch = importlib.import_module(f"{torch.__name__}.utils._python_dispatch")

    class Log(dispatch.TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(3, 4, requires_grad=True)
    with Log() as outer, Log() as inner:
        x[0].relu().sum().backward()
    assert outer.names == inner.names and "aten.select_backward.default" in outer.names
    assert x.grad.tolist() == [[1.0] * 4, [0.0] * 4, [0.0] * 4]
