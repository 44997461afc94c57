"""models.py DIR: writes configurations with the shapes of known models, and small safetensors files."""
import json
import os
import struct
import sys

DIR = sys.argv[1]
LLAMA = dict(model_type="llama", hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8,
             torch_dtype="bfloat16")
CONFIGS = {
    "llama": LLAMA,
    "qwen": dict(model_type="qwen2", hidden_size=3584, intermediate_size=18944, num_attention_heads=28, num_key_value_heads=4,
                 torch_dtype="bfloat16"),
    "mixtral": dict(LLAMA, model_type="mixtral", num_local_experts=8, num_experts_per_tok=2),
    "moe": dict(model_type="qwen2_moe", hidden_size=2048, intermediate_size=5632, num_attention_heads=16,
                num_key_value_heads=16, moe_intermediate_size=768, num_experts=64, num_experts_per_tok=4,
                shared_expert_intermediate_size=5632, dtype="bfloat16"),
    "latent": dict(LLAMA, kv_lora_rank=512),
    "small": dict(hidden_size=64, num_attention_heads=4),
    "double": dict(LLAMA, torch_dtype="float64"),
}
for name, config in CONFIGS.items():
    json.dump(config, open(os.path.join(DIR, name + ".json"), "w"))


def tensors(name, shapes, dtype="F16"):
    header = json.dumps({key: dict(dtype=dtype, shape=shape, data_offsets=[0, 0]) for key, shape in shapes.items()}).encode()
    with open(os.path.join(DIR, name), "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header)


LAYERS = {"model.embed_tokens.weight": [1000, 256], "model.layers.0.mlp.up_proj.weight": [512, 256],
          "model.layers.0.input_layernorm.weight": [256], "model.layers.0.mlp.gate.weight": [8, 256],
          "model.layers.1.mlp.up_proj.weight": [512, 256], "model.layers.0.self_attn.q_proj.weight": [128, 256],
          "lm_head.weight": [1000, 256]}
tensors("one.safetensors", LAYERS)
names = list(LAYERS)
tensors("a.safetensors", {key: LAYERS[key] for key in names[:4]})
tensors("b.safetensors", {key: LAYERS[key] for key in names[4:]})
index = {"metadata": {}, "weight_map": {key: "ab"[i >= 4] + ".safetensors" for i, key in enumerate(names)}}
index["weight_map"]["evil.weight"] = "../../etc/passwd"  # a file in another folder is not read
json.dump(index, open(os.path.join(DIR, "model.safetensors.index.json"), "w"))
tensors("odd.safetensors", {"x.weight": [63, 31]})
open(os.path.join(DIR, "bad.safetensors"), "wb").write(struct.pack("<Q", 1 << 40))
