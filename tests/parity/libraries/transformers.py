"""Three steps of training of small language models, and text that one of them writes."""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

ids = torch.randint(0, 99, (2, 12), generator=torch.Generator().manual_seed(1))
small = dict(vocab_size=99, hidden_size=32, intermediate_size=64, num_hidden_layers=2)


def train(make, **batch):
    torch.manual_seed(0)
    model = make()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item())
    return model


gpt = train(lambda: GPT2LMHeadModel(GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=2, n_positions=64)),
    input_ids=ids, labels=ids)
gpt.eval()
print(gpt.generate(ids[:, :4], max_new_tokens=8, do_sample=False, pad_token_id=0).tolist())
train(lambda: LlamaForCausalLM(LlamaConfig(num_attention_heads=4, num_key_value_heads=2, **small)), input_ids=ids,
    labels=ids)
train(lambda: BertForSequenceClassification(BertConfig(num_attention_heads=2, **small)), input_ids=ids,
    labels=torch.tensor([0, 1]))
