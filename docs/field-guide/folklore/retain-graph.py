import weakref

import torch

alive = []


class Saved:
    def __init__(self, tensor):
        self.tensor = tensor.detach()  # a result that holds its own node would be a cycle


def pack(tensor):
    saved = Saved(tensor)
    alive.append(weakref.ref(saved))
    return saved


def counts(step):
    alive.clear()
    found = []
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved.tensor):
        for _ in range(4):
            step()
            found.append(sum(ref() is not None for ref in alive))
    return found


w = torch.ones(2, requires_grad=True)
kept, state, loss = [], torch.ones(2), None


def retaining():
    global loss
    loss = (w.exp() * w.sin()).sum()
    loss.backward(retain_graph=True)


def carrying():
    global state
    state = state * w.exp()
    state.sum().backward(retain_graph=True)


def collecting():
    kept.append((w.exp() * w.sin()).sum())


def collecting_after_backward():
    kept.append((w.exp() * w.sin()).sum())
    kept[-1].backward()


for f in (retaining, carrying, collecting, collecting_after_backward):
    kept.clear()
    loss = None
    print(f"{f.__name__:26s}", counts(f))
