"""What PyTorch does of the operations of the example `rates`, with tensors of 2^size f32: `torch_rates.py SIZE`."""

import sys
import time

import torch

power = int(sys.argv[1]) if len(sys.argv) > 1 else 26
n = 1 << power
side = 1 << (power // 2)
torch.backends.cuda.matmul.allow_tf32 = False
x = torch.rand(side, n // side, device="cuda")
y, z = torch.rand_like(x), x * 0.5
rows = x.view(n // 1024, 1024)
w, b = torch.ones(1024, device="cuda"), torch.zeros(1024, device="cuda")
m = min(side, 4096)
a = x.flatten()[: m * m].view(m, m)
small = torch.ones(16, device="cuda")
fused = torch.compile(lambda x, y, z: torch.exp(torch.relu(x * y + z)))


def least(job, batch=10):
    best = float("inf")
    for turn in range(6):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(batch):
            job()
        torch.cuda.synchronize()
        if turn:
            best = min(best, (time.perf_counter() - start) / batch)
    return best


def rate(name, moved, job):
    seconds = least(job)
    print(f"{name:24} {moved * 4 * n / seconds / 1e9:9.1f} GB/s  {seconds * 1e6:10.1f} us")


print(f"{torch.cuda.get_device_name()} with 2^{power} f32, PyTorch {torch.__version__}")
rate("copy", 2, lambda: x.clone())
rate("add", 3, lambda: x + y)
rate("exp", 2, lambda: torch.exp(x))
rate("gelu", 2, lambda: torch.nn.functional.gelu(x))
try:
    rate("exp(relu(x*y+z)), fused", 4, lambda: fused(x, y, z))
except Exception as error:  # noqa: BLE001, a missing compiler is no reason to stop
    print("fused:", type(error).__name__)
rate("sum, all", 1, lambda: x.sum())
rate("sum, last axis", 1, lambda: x.sum(1))
rate("sum, first axis", 1, lambda: x.sum(0))
rate("argmax, all", 1, lambda: x.argmax())
line = x.flatten()
rate("cumsum, all", 2, lambda: line.cumsum(0))
rate("softmax of 1024", 2, lambda: torch.softmax(rows, -1))
rate("layer norm of 1024", 2, lambda: torch.nn.functional.layer_norm(rows, (1024,), w, b))
seconds = least(lambda: a @ a, 3)
print(f"{f'matmul {m}':24} {2 * m**3 / seconds / 1e12:9.2f} TFLOP/s {seconds * 1e6:8.1f} us")
print(f"{'small add, host':24} {least(lambda: small + small, 640) * 1e6:9.2f} us")
