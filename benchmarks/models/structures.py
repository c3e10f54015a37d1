"""Graphs, tables, recommendation, generators, control, and learning to learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.models.kind import Kind, predicting
from benchmarks.workloads import mlp_model, train

if TYPE_CHECKING:
    from benchmarks.workloads import Step

NODES, EDGES = 1000, 5000


def scattered(torch: Any) -> Any:
    """Messages along edges, added up where they arrive."""
    nn = torch.nn

    class Graph(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 7)

        def forward(self, x: Any, source: Any, target: Any) -> Any:
            for layer in (self.first, self.second):
                h = layer(x)
                x = torch.relu(torch.zeros_like(h).index_add_(0, target, h[source]) + h)
            return x

    return Graph(), (torch.randn(NODES, 16), torch.randint(0, NODES, (EDGES,)), torch.randint(0, NODES, (EDGES,)))


def attending(torch: Any) -> Any:
    """Attention over the edges of a node by scatter (Velickovic et al. 2018)."""
    nn = torch.nn

    class Graph(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.of, self.score, self.out = nn.Linear(16, 32), nn.Linear(64, 1), nn.Linear(32, 7)

        def forward(self, x: Any, source: Any, target: Any) -> Any:
            h = self.of(x)
            weight = nn.functional.leaky_relu(self.score(torch.cat([h[source], h[target]], 1)), 0.2).exp()
            total = torch.zeros(NODES, 1).scatter_add(0, target[:, None], weight)
            messages = h[source] * (weight / total[target])
            rows = target[:, None].expand_as(messages)
            return self.out(torch.relu(torch.zeros_like(h).scatter_add(0, rows, messages)))

    return Graph(), (torch.randn(NODES, 16), torch.randint(0, NODES, (EDGES,)), torch.randint(0, NODES, (EDGES,)))


def sparse(torch: Any) -> Any:
    """Products with a sparse adjacency (Kipf and Welling 2017)."""
    nn = torch.nn
    places = torch.randint(0, NODES, (2, EDGES))
    adjacency = torch.sparse_coo_tensor(places, torch.full((EDGES,), 0.2), (NODES, NODES)).coalesce()

    class Graph(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 7)

        def forward(self, x: Any) -> Any:
            return torch.sparse.mm(adjacency, self.second(torch.relu(torch.sparse.mm(adjacency, self.first(x)))))

    return Graph(), torch.randn(NODES, 16)


def recommendation(torch: Any) -> Any:
    """Bags of embeddings of several tables, their products, and an MLP (Naumov et al. 2019)."""
    nn = torch.nn

    class Recommender(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tables = nn.ModuleList([nn.EmbeddingBag(50_000, 64, mode="mean") for _ in range(3)])
            self.dense = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 64))
            self.top = nn.Sequential(nn.Linear(70, 64), nn.ReLU(), nn.Linear(64, 2))

        def forward(self, x: Any, bags: Any) -> Any:
            y = self.dense(x)
            rows = torch.stack([y, *[t(b) for t, b in zip(self.tables, bags, strict=True)]], 1)
            crossed = rows @ rows.transpose(1, 2)
            a, b = torch.triu_indices(4, 4, 1)
            return self.top(torch.cat([y, crossed[:, a, b]], 1))

    return Recommender(), (torch.randn(128, 13), torch.randint(0, 50_000, (3, 128, 8)))


def tabular(torch: Any) -> Any:
    """Columns of categories and numbers with batch norm and dropout."""
    nn = torch.nn

    class Table(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.columns = nn.ModuleList([nn.Embedding(30, 8) for _ in range(10)])
            self.norm = nn.BatchNorm1d(6)
            hidden = [nn.Linear(86, 128), nn.ReLU(), nn.BatchNorm1d(128), nn.Dropout(0.2)]
            self.top = nn.Sequential(*hidden, nn.Linear(128, 2))

        def forward(self, categories: Any, numbers: Any) -> Any:
            rows = [column(categories[:, k]) for k, column in enumerate(self.columns)]
            return self.top(torch.cat([*rows, self.norm(numbers)], 1))

    return Table(), (torch.randint(0, 30, (256, 10)), torch.randn(256, 6))


def two_towers(torch: Any) -> Any:
    """Contrastive learning of two encoders (InfoNCE)."""
    nn = torch.nn

    class Towers(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = (nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32)) for _ in range(2))

        def forward(self, a: Any, b: Any) -> Any:
            f = nn.functional
            return f.normalize(self.one(a), dim=-1) @ f.normalize(self.other(b), dim=-1).T / 0.07

    return Towers(), (torch.randn(128, 64), torch.randn(128, 64))


def generator(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.ConvTranspose2d(64, 128, 7, bias=False), nn.BatchNorm2d(128), nn.ReLU(),
        nn.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.ConvTranspose2d(64, 1, 4, 2, 1), nn.Tanh())


def critic(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Flatten(), nn.Linear(6272, 1))


def adversarial(torch: Any) -> Step:
    """A generator and a critic with gradient penalty (Gulrajani et al. 2017), one step of each."""
    made, judge = generator(torch), critic(torch)
    ours, theirs = (torch.optim.Adam(m.parameters(), 1e-4, (0.5, 0.9)) for m in (made, judge))
    real = torch.randn(16, 1, 28, 28)

    def step() -> float:
        fake = made(torch.randn(16, 64, 1, 1))
        between = torch.rand(16, 1, 1, 1)
        mixed = (between * real + (1 - between) * fake.detach()).requires_grad_()
        slope, = torch.autograd.grad(judge(mixed).sum(), mixed, create_graph=True)
        theirs.zero_grad()
        penalty = ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()
        loss = judge(fake.detach()).mean() - judge(real).mean() + 10 * penalty
        loss.backward()
        theirs.step()
        ours.zero_grad()
        (-judge(fake).mean()).backward()
        ours.step()
        return float(loss.item())

    return step


def vae(torch: Any) -> Step:
    nn = torch.nn
    encode, decode = (nn.Sequential(nn.Linear(a, 256), nn.ReLU(), nn.Linear(256, b)) for a, b in ((784, 40), (20, 784)))
    x = torch.rand(64, 784)

    def loss_of() -> Any:
        mean, spread = encode(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (spread / 2).exp()
        seen = nn.functional.binary_cross_entropy_with_logits(decode(z), x, reduction="sum")
        return (seen - 0.5 * (1 + spread - mean**2 - spread.exp()).sum()) / 64

    return train(encode, torch.optim.Adam([*encode.parameters(), *decode.parameters()], 1e-3), loss_of)


def flow(torch: Any) -> Step:
    """Affine coupling layers (Dinh et al. 2017)."""
    nn = torch.nn
    nets = nn.ModuleList([nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 16)) for _ in range(6)])
    x = torch.randn(256, 16)

    def loss_of() -> Any:
        a, b = x.chunk(2, 1)
        logs: Any = 0
        for net in nets:
            scale, shift = net(a).chunk(2, 1)
            scale = scale.tanh()
            a, b, logs = b * scale.exp() + shift, a, logs + scale.sum(1)
        return (0.5 * (a**2 + b**2).sum(1) - logs).mean()

    return train(nets, torch.optim.Adam(nets.parameters(), 1e-3), loss_of)


def policy(torch: Any) -> Step:
    """Clipped policy gradients with a value (Schulman et al. 2017)."""
    nn = torch.nn

    def network(outputs: int) -> Any:
        return nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))

    actor, value = network(4), network(1)
    states, returns = torch.randn(128, 8), torch.randn(128)
    with torch.no_grad():
        first = torch.distributions.Categorical(logits=actor(states))
        actions = first.sample()
        before = first.log_prob(actions)

    def loss_of() -> Any:
        now, worth = torch.distributions.Categorical(logits=actor(states)), value(states)[:, 0]
        advantage = returns - worth.detach()
        ratio = (now.log_prob(actions) - before).exp()
        gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        return -gain + 0.5 * nn.functional.mse_loss(worth, returns) - 0.01 * now.entropy().mean()

    return train(actor, torch.optim.Adam([*actor.parameters(), *value.parameters()], 3e-4), loss_of)


def q_learning(torch: Any) -> Step:
    nn = torch.nn
    learner, target = mlp_model(torch, (8, 64, 64, 4)), mlp_model(torch, (8, 64, 64, 4))
    now, then, rewards = torch.randn(64, 8), torch.randn(64, 8), torch.randn(64)
    actions = torch.randint(0, 4, (64, 1))

    def loss_of() -> Any:
        with torch.no_grad():
            wanted = rewards + 0.99 * target(then).max(1).values
            for a, b in zip(target.parameters(), learner.parameters(), strict=True):
                a.lerp_(b, 0.01)
        return nn.functional.smooth_l1_loss(learner(now).gather(1, actions)[:, 0], wanted)

    return train(learner, torch.optim.Adam(learner.parameters(), 1e-3), loss_of)


STRUCTURES: list[Kind] = [
    predicting("graph-scatter", "graph network by scatter, 1,000 nodes", 1.0, scattered),
    predicting("graph-attention", "graph attention by scatter", 1.0, attending),
    predicting("graph-sparse", "graph network by sparse products", 1.0, sparse),
    predicting("recommendation", "three tables of 50,000×64, bags", 1.0, recommendation),
    predicting("tabular", "ten columns of categories", 1.0, tabular, None, "AdamW", lr=1e-3),
    predicting("contrastive", "two encoders, InfoNCE", 1.0, two_towers, None, "AdamW", lr=1e-3),
    Kind("gan", "generator and critic, gradient penalty", 0.8, adversarial),
    Kind("vae", "variational autoencoder, 784", 1.0, vae),
    Kind("flow", "normalising flow of six couplings", 1.0, flow),
    Kind("policy", "clipped policy gradients", 1.0, policy),
    Kind("q-learning", "Q learning with a target network", 1.0, q_learning),
]
