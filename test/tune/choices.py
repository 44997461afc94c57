"""choices.py SIZES SCHEDULE...: prints tuned choices as `heddle tune export --choices` writes them."""
import json
import sys

words = sys.argv[1:]
choices = [{"product": "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 " + sizes.replace(",", " ") +
                       " k_major row_major",
            "schedule": schedule, "us": 1.5, "default_us": 2, "device": "Nowhere"}
           for sizes, schedule in zip(words[::2], words[1::2])]
print(json.dumps({"version": 1, "choices": choices}))
