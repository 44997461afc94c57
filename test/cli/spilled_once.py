"""spilled_once.py NAME.json: no bucket uses a schedule that was replaced in another bucket."""
import json
import sys

variants = json.load(open(sys.argv[1]))["variant"]
taken = {v["schedule"] for v in variants}
spilled = {v["instead_of"] for v in variants if v["instead_of"]}
assert spilled and not taken & spilled, taken & spilled
