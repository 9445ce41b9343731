"""A multilayer perceptron and a classifier of sequences."""

from __future__ import annotations

import torch
from torch import nn


class MultiLayerPerceptron(nn.Module):
    """(N, inputs) to (N, classes), with GELU in between."""

    def __init__(self, inputs: int = 32, hidden: int = 64, classes: int = 10) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class LSTMClassifier(nn.Module):
    """(N, L) tokens to (N, classes): two layers of LSTM, and the last hidden state decides."""

    def __init__(self, tokens: int = 64, width: int = 32, classes: int = 10) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        _, (hidden, _) = self.lstm(self.embedding(tokens))
        return self.head(hidden[-1])
