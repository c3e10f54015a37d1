"""Transformers of many kinds by arguments: a decoder that writes, an encoder, a translator, pictures."""

import torch
from x_transformers import (
    AutoregressiveWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
    XTransformer,
)

ids = torch.randint(0, 64, (2, 24), generator=torch.Generator().manual_seed(1))
kinds = {
    "plain": dict(),
    "rotary": dict(rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True),
    "alibi": dict(alibi_pos_bias=True, attn_qk_norm=True),
    "relative": dict(rel_pos_bias=True, sandwich_norm=True, attn_pre_talking_heads=True),
    "shared keys": dict(attn_kv_heads=1, ff_swish=True, ff_glu=True, attn_gate_values=True),
}
for name, options in kinds.items():
    torch.manual_seed(0)
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=64, max_seq_len=32,
        attn_layers=Decoder(dim=32, depth=2, heads=2, attn_dim_head=16, **options)))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(ids)
        loss.backward()
        optimizer.step()
    print(name, loss.item())
print(model.generate(ids[:, :6], 6, temperature=0.0).tolist())

torch.manual_seed(0)
encoder = TransformerWrapper(num_tokens=64, max_seq_len=32, attn_layers=Encoder(dim=32, depth=2, heads=2,
    attn_dim_head=16, rotary_pos_emb=True), return_only_embed=True)
mask = torch.ones(2, 24, dtype=torch.bool)
mask[1, 16:] = False
hidden = encoder(ids, mask=mask)
print(hidden.shape[-1], hidden.std().item(), hidden[1, :16].abs().mean().item())

translator = XTransformer(dim=32, enc_num_tokens=64, enc_depth=1, enc_heads=2, enc_max_seq_len=32, dec_num_tokens=64,
    dec_depth=1, dec_heads=2, dec_max_seq_len=32, tie_token_emb=True)
optimizer = torch.optim.AdamW(translator.parameters(), lr=3e-3)
for _ in range(4):
    optimizer.zero_grad()
    loss = translator(ids, ids.flip(1), mask=mask)
    loss.backward()
    optimizer.step()
    print(loss.item())

pictures = torch.rand(4, 3, 16, 16)
classifier = ViTransformerWrapper(image_size=16, patch_size=4, num_classes=3, attn_layers=Encoder(dim=32, depth=2,
    heads=2, attn_dim_head=16))
optimizer = torch.optim.SGD(classifier.parameters(), lr=0.05)
for _ in range(4):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(classifier(pictures), torch.tensor([0, 1, 2, 0]))
    loss.backward()
    optimizer.step()
    print(loss.item())
