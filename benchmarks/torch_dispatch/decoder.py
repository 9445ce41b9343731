"""Training steps of a small decoder, on the CPU and on droplet in turn.

Small, so that the way of each operator to the device counts and not what a chip made of one thread computes. At
WIDTH 128, LENGTH 64, BATCH 4 arithmetic is most of it.
"""

from __future__ import annotations

import time

REPEATS = 40
VOCABULARY, WIDTH, HEADS, LENGTH, BATCH = 128, 64, 4, 32, 1


def step_times() -> tuple[float, float]:
    """Seconds of the fastest step on the CPU and on droplet, which take turns, so that both see the same machine."""
    import torch
    import torch_droplet  # noqa: F401  # the device
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
            self.mix, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            parts = self.mix(self.first(x)).chunk(3, -1)
            q, k, v = (part.reshape(BATCH, LENGTH, HEADS, -1).transpose(1, 2) for part in parts)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))
            return x + self.down(nn.functional.silu(self.up(self.second(x))))

    class Step:
        def __init__(self, device: str) -> None:
            torch.manual_seed(0)
            layers = [nn.Embedding(VOCABULARY, WIDTH), Block(), Block(), nn.Linear(WIDTH, VOCABULARY)]
            self.model = nn.Sequential(*layers).to(device)
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
            self.tokens = torch.randint(VOCABULARY, (BATCH, LENGTH)).to(device)
            self.device = device

        def run(self) -> float:
            start = time.perf_counter()
            self.optimizer.zero_grad()
            logits = self.model(self.tokens)
            nn.functional.cross_entropy(logits.flatten(0, 1), self.tokens.flatten()).backward()
            self.optimizer.step()
            if self.device != "cpu":
                torch.accelerator.synchronize()
            return time.perf_counter() - start

    steps = {device: Step(device) for device in ("cpu", "droplet")}
    best = {device: step.run() for device, step in steps.items()}
    for _ in range(REPEATS):
        for device, step in steps.items():
            best[device] = min(best[device], step.run())
    return best["cpu"], best["droplet"]
