"""Training steps of small decoders, on the CPU and on droplet in turn.

At width 64 the way of each operator to the device counts; at width 128, with eight times the tokens, what a chip made
of one thread computes is most of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

REPEATS = 40
VOCABULARY, HEADS = 128, 4


@dataclass(frozen=True)
class Size:
    """The width of the model, and the tokens of a step."""

    width: int
    length: int
    batch: int


SIZES = (Size(64, 32, 1), Size(128, 64, 4))


def step_times(size: Size) -> tuple[float, float]:
    """Seconds of the fastest step on the CPU and on droplet, which take turns, so that both see the same machine."""
    import torch
    import torch_droplet  # noqa: F401  # the device
    from torch import nn

    width, length, batch = size.width, size.length, size.batch

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
            self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            parts = self.mix(self.first(x)).chunk(3, -1)
            q, k, v = (part.reshape(batch, length, HEADS, -1).transpose(1, 2) for part in parts)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(nn.functional.silu(self.up(self.second(x))))

    class Step:
        def __init__(self, device: str) -> None:
            torch.manual_seed(0)
            layers = [nn.Embedding(VOCABULARY, width), Block(), Block(), nn.Linear(width, VOCABULARY)]
            self.model = nn.Sequential(*layers).to(device)
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
            self.tokens = torch.randint(VOCABULARY, (batch, length)).to(device)
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
