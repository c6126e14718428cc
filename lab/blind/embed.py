"""Multiplies matrices on the GPU for a share of the time, until it is killed: embed.py DUTY. Says "ready" when it began."""

import sys
import time

import torch

SLICE_S = 0.1
duty = float(sys.argv[1])
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()
print("ready", flush=True)
while True:
    began = time.monotonic()
    while time.monotonic() - began < SLICE_S * duty:
        for _ in range(4):
            a @ b
        torch.cuda.synchronize()
    time.sleep(max(0.0, SLICE_S * (1 - duty)))
