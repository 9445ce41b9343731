"""Models of diffusers and torch_geometric."""

from __future__ import annotations

from typing import Any

import torch
from packaged_model import Batch, PackageModel, images
from torch import nn


def _unet() -> Any:
    import diffusers

    return diffusers.UNet2DModel(
        sample_size=16, block_out_channels=(16, 32), layers_per_block=1, norm_num_groups=8, attention_head_dim=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip


def _conditional() -> Any:
    import diffusers

    return diffusers.UNet2DConditionModel(
        sample_size=16, in_channels=4, out_channels=4, block_out_channels=(16, 32), layers_per_block=1,
        norm_num_groups=8, attention_head_dim=8, cross_attention_dim=16,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip


def _autoencoder() -> Any:
    import diffusers

    return diffusers.AutoencoderKL(
        block_out_channels=(16, 32), norm_num_groups=8, latent_channels=4, sample_size=16,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip


def _dit() -> Any:
    import diffusers

    network: Any = diffusers.DiTTransformer2DModel(  # without the types of what it derives from
        num_attention_heads=4, attention_head_dim=8, in_channels=4, out_channels=4, num_layers=2, sample_size=8,
        num_embeds_ada_norm=8,
    )  # fmt: skip
    for module in network.modules():
        if hasattr(module, "dropout_prob"):  # of labels; the configuration does not have it
            module.dropout_prob = 0.0
    return network


def _noisy(channels: int, size: int, **others: Any) -> Any:
    def sample(generator: torch.Generator) -> Batch:
        made: dict[str, Any] = {"sample": torch.randn(2, channels, size, size, generator=generator)}
        return {**made, "timestep": torch.tensor([3, 70]), **{k: make(generator) for k, make in others.items()}}

    return sample


def _dit_data(generator: torch.Generator) -> Batch:
    labels = torch.randint(8, (2,), generator=generator)
    states = torch.randn(2, 4, 8, 8, generator=generator)
    return {"hidden_states": states, "timestep": torch.tensor([3, 70]), "class_labels": labels}


def _sample(result: Any) -> torch.Tensor:
    return result.sample


class Graph(nn.Module):
    """Two layers of a kind, for the nodes of a graph."""

    def __init__(self, kind: str, **options: Any) -> None:
        super().__init__()
        import torch_geometric.nn as layers

        self.first = getattr(layers, kind)(8, 16, **options)
        self.second = getattr(layers, kind)(16, 4, **options)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index)


class Pooled(Graph):
    """The same with the largest of each graph's features."""

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        import torch_geometric.nn as layers

        return layers.global_max_pool(super().forward(x, edge_index), torch.arange(12, device=x.device) // 6)


def _graph(generator: torch.Generator) -> Batch:
    return {
        "x": torch.randn(12, 8, generator=generator),
        "edge_index": torch.randint(12, (2, 30), generator=generator),
    }


MODELS = (
    PackageModel("diffusers", "unet", _unet, _noisy(3, 16), _sample),
    PackageModel(
        "diffusers", "unet_conditional", _conditional,
        _noisy(4, 16, encoder_hidden_states=lambda generator: torch.randn(2, 5, 16, generator=generator)), _sample,
    ),
    PackageModel("diffusers", "autoencoder", _autoencoder, images(16, name="sample"), _sample),
    PackageModel("diffusers", "dit", _dit, _dit_data, _sample),
    PackageModel("torch_geometric", "gcn", lambda: Graph("GCNConv"), _graph),
    PackageModel("torch_geometric", "gat", lambda: Graph("GATConv"), _graph),
    PackageModel("torch_geometric", "sage", lambda: Graph("SAGEConv", aggr="max"), _graph),
    PackageModel("torch_geometric", "pooled", lambda: Pooled("GraphConv"), _graph),
)  # fmt: skip
