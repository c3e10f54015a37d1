"""A language model adapted by a few numbers: low-rank factors, scales and prompts; merged, saved and loaded again."""

import tempfile

import torch
from peft import IA3Config, LoraConfig, PeftModel, PromptTuningConfig, TaskType, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

ids = torch.randint(0, 60, (4, 10), generator=torch.Generator().manual_seed(1))


def base():
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=60, n_embd=24, n_layer=2, n_head=2, n_positions=32,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))


def train(model, steps=6):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.02)
    for _ in range(steps):
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item())


configurations = {
    "lora": LoraConfig(task_type=TaskType.CAUSAL_LM, r=4, lora_alpha=8, target_modules=["c_attn", "c_proj"],
        fan_in_fan_out=True),
    "dora": LoraConfig(task_type=TaskType.CAUSAL_LM, r=2, target_modules=["c_attn"], use_dora=True,
        fan_in_fan_out=True),
    "ia3": IA3Config(task_type=TaskType.CAUSAL_LM, target_modules=["c_attn", "c_proj"],
        feedforward_modules=["c_proj"], fan_in_fan_out=True),
    "prompt": PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=4),
}
for name, configuration in configurations.items():
    model = base()
    torch.manual_seed(1)
    model = get_peft_model(model, configuration)
    print(name, *model.get_nb_trainable_parameters())
    train(model)
    if name != "lora":
        continue
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = PeftModel.from_pretrained(base(), folder)
    model.eval()
    again.eval()
    with torch.no_grad():
        before = model(ids).logits
        print(float(torch.equal(before, again(ids).logits)))
        with model.disable_adapter():
            print((model(ids).logits - before).abs().mean().item())
        merged = model.merge_and_unload()
        print(float(torch.allclose(merged(ids).logits, before, atol=1e-5)), before.std().item())
