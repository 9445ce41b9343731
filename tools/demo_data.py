"""Training data of `make demo-torch`: data that packages ship.

Digits: 1,797 images of 8 x 8 from scikit-learn (`load_digits`, from the UCI repository, Alpaydin and Kaynak 1998), the
last 360 of them for testing, by writers whom the training has not seen. Text: the language reference that Python's own
`help()` prints (`pydoc_data.topics`), the last tenth for testing.
"""

from __future__ import annotations

import pydoc_data.topics
from collections import Counter
from dataclasses import dataclass

import torch
import torch.nn.functional as F

Batch = tuple[torch.Tensor, torch.Tensor]

TESTED_DIGITS = 360
SYMBOLS = 64
"""Of texts: the most frequent characters in lower case, and one for all others."""
LENGTH = 48
"""Of the pieces of text that the decoder reads."""


@dataclass(frozen=True)
class Data:
    """Inputs and targets, one sample each along the first dimension. For digits: [N, 3, 32, 32] in [0, 1] and classes
    [N]; for texts: symbols [N, LENGTH] and the symbols after them."""

    train: Batch
    test: Batch

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """`size` samples of the training data, at random."""
        inputs, targets = self.train
        samples = torch.randint(len(inputs), (size,), generator=generator)
        return inputs[samples], targets[samples]


def digits() -> Data:
    from sklearn.datasets import load_digits

    loaded = load_digits()
    small = torch.from_numpy(loaded.images).float().unsqueeze(1) / 16
    images = F.interpolate(small, scale_factor=4, mode="bilinear").expand(-1, 3, -1, -1).contiguous()
    classes = torch.from_numpy(loaded.target).long()
    cut = len(images) - TESTED_DIGITS
    return Data((images[:cut], classes[:cut]), (images[cut:], classes[cut:]))


def text() -> Data:
    """Every text of the library's topics, in the order of their names."""
    topics = pydoc_data.topics.topics
    characters = "\n".join(topics[name] for name in sorted(topics)).lower()
    frequent = [character for character, _ in Counter(characters).most_common(SYMBOLS - 1)]
    numbers = {character: number for number, character in enumerate(sorted(frequent), start=1)}
    symbols = torch.tensor([numbers.get(character, 0) for character in characters])
    pieces = symbols[: len(symbols) // (LENGTH + 1) * (LENGTH + 1)].view(-1, LENGTH + 1)
    cut = len(pieces) * 9 // 10
    tested = pieces[cut:]
    return Data((pieces[:cut, :-1], pieces[:cut, 1:]), (tested[:, :-1], tested[:, 1:]))
