"""A character-level GPT that learns to write like Python's own documentation.

The text is `pydoc_data.topics`, which ships with Python (what `help("with")` prints): nothing is downloaded.
The model is a pre-norm transformer decoder with tied embeddings; at the end it writes a paragraph.

    python examples/char_gpt.py
    python examples/char_gpt.py --steps 2000 --layers 4 --width 128
"""

import argparse
import math
import sys
from pydoc_data.topics import topics

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    """Each position looks at itself and at the positions before it, in `heads` different ways."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x):
        batch, time, width = x.shape
        by_head = (batch, time, self.heads, width // self.heads)
        q, k, v = (part.view(by_head).transpose(1, 2) for part in self.qkv(x).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(batch, time, width))


class Block(nn.Module):
    """Attention, then a two-layer perceptron, each added to what came in."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, context, width, layers, heads):
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight  # one table reads characters and writes them
        self.apply(self.init_weights)

    @staticmethod
    def init_weights(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, index, targets=None):
        """Scores (batch, time, vocabulary) for the next character, and the loss where targets are given."""
        time = index.size(1)
        x = self.tokens(index) + self.positions(torch.arange(time, device=index.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    @torch.no_grad()
    def generate(self, index, length, temperature=0.8, top_k=20):
        """Append `length` characters, each drawn from the `top_k` likeliest ones."""
        for _ in range(length):
            logits, _ = self(index[:, -self.context :])
            logits = logits[:, -1, :] / temperature
            worst_kept = torch.topk(logits, top_k).values[:, [-1]]
            logits = logits.masked_fill(logits < worst_kept, float("-inf"))
            index = torch.cat([index, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)], dim=1)
        return index


def get_batch(data, batch_size, context):
    """Random windows of the text, and the same windows one character later."""
    starts = torch.randint(len(data) - context, (batch_size,)).tolist()
    x = torch.stack([data[i : i + context] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + context] for i in starts])
    return x, y


def make_optimizer(model, lr):
    """AdamW that shrinks the matrices but not the biases and norms."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))


def report(step, steps, text):
    """Print a line for each step; on a terminal, one line with a bar that grows."""
    if sys.stdout.isatty():
        done = 24 * step // steps
        print(f"\r[{'#' * done}{'.' * (24 - done)}] {text}", end="\n" if step == steps else "", flush=True)
    else:
        print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--sample", type=int, default=300, help="characters to write at the end")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    text = "\n".join(topics.values())
    alphabet = sorted(set(text))
    number = {character: i for i, character in enumerate(alphabet)}
    data = torch.tensor([number[character] for character in text])
    train, held_out = data[: int(0.9 * len(data))], data[int(0.9 * len(data)) :]

    model = GPT(len(alphabet), args.context, args.width, args.layers, args.heads)
    print(f"{len(text)} characters, {len(alphabet)} different; {sum(p.numel() for p in model.parameters())} parameters")
    optimizer = make_optimizer(model, args.lr)
    warmup = 20

    def lr_factor(step):
        """Linear warm-up, then a cosine down to a tenth."""
        if step < warmup:
            return (step + 1) / warmup
        progress = (step - warmup) / max(1, args.steps - warmup)
        return 0.1 + 0.45 * (1 + math.cos(math.pi * progress))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_factor)

    model.train()
    for step in range(1, args.steps + 1):
        x, y = get_batch(train, args.batch_size, args.context)
        _, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        scheduler.step()
        report(step, args.steps, f"step {step} loss {loss.item():.6f}")

    model.eval()
    with torch.no_grad():
        losses = torch.stack([model(*get_batch(held_out, args.batch_size, args.context))[1] for _ in range(10)])
    print(f"held-out loss {losses.mean().item():.4f} nats per character")
    if args.sample:
        prompt = torch.tensor([[number[character] for character in "The "]])
        print("".join(alphabet[i] for i in model.generate(prompt, args.sample)[0].tolist()))


if __name__ == "__main__":
    main()
