"""BEVFormer, whose layers sample feature maps at places that they predict, and the networks of StyleGAN2."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracing.convolutional import ResNet50
from tracing.detectors import focal_loss
from tracing.noted import differentiable, filled, note, zeros
from tracing.recorder import Recorder


def sampled(value: Tensor, positions: Tensor, weights: Tensor, maps: tuple[tuple[int, int], ...]) -> Tensor:
    """Multi-scale deformable attention: weighted samples of the maps that `value` joins."""
    starts = [0]
    for height, width in maps[:-1]:
        starts.append(starts[-1] + height * width)
    shared = {
        "spatial_shapes": filled((len(maps), 2), maps, "int64"),
        "level_start_index": filled((len(maps),), tuple(starts), "int64"),
        "sampling_loc": filled(positions.shape, "uniform(-0.1, 1.1)"),
        "attn_weight": filled(weights.shape, "uniform(0, 0.2)"),
    }
    batch, heads, size, queries = value.shape[0], value.shape[2], value.shape[3], positions.shape[1]

    def forward(value: Tensor, positions: Tensor, weights: Tensor) -> Tensor:
        note("MsDeformAttnMmcv", value=value, **shared)
        return torch.empty(batch, queries, heads * size)

    def backward(grad: Tensor, value: Tensor, positions: Tensor, weights: Tensor) -> tuple[Tensor, ...]:
        sums = {"grad_value": zeros(value), "grad_sampling_loc": zeros(positions), "grad_attn_weight": zeros(weights)}
        note("MsDeformAttnBackwardMmcv", value=value, grad_output=grad, **sums, **shared)
        return torch.empty_like(value), torch.empty_like(positions), torch.empty_like(weights)

    return differentiable(forward, backward, value, positions, weights)


class Sampling(nn.Module):
    """Queries that look at a few places of feature maps, 8 heads of 32."""

    def __init__(self, points: int, inputs: int = 256, kinds: int = 1) -> None:
        super().__init__()
        self.points, self.kinds = points, kinds
        self.positions, self.weights = nn.Linear(inputs, 16 * points * kinds), nn.Linear(inputs, 8 * points * kinds)
        self.values = nn.Linear(256, 256)

    def forward(self, x: Tensor, memory: Tensor, maps: tuple[tuple[int, int], ...], near: Tensor) -> Tensor:
        batch, queries = x.shape[0] * self.kinds, x.shape[1]
        values = self.values(memory).view(batch, -1, 8, 32)
        positions = self.positions(x).view(batch, queries, 8, 1, self.points, 2) / 50 + near
        weights = self.weights(x).view(batch, queries, 8, self.points).softmax(-1)
        return sampled(values, positions, weights.view(batch, queries, 8, 1, self.points), maps)


def wide(width: int) -> nn.Sequential:
    """The layers that look at one query alone."""
    return nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))


class EncoderLayer(nn.Module):
    """The map from above looks at itself one step of time before, then at what six cameras see of it."""

    def __init__(self) -> None:
        super().__init__()
        self.past, self.cameras = Sampling(4, 512, 2), Sampling(8)
        self.one, self.two, self.wide = nn.Linear(256, 256), nn.Linear(256, 256), wide(256)
        self.norms = nn.ModuleList(nn.LayerNorm(256) for _ in range(3))

    def forward(self, x: Tensor, before: Tensor, seen: Tensor, visible: Tensor) -> Tensor:
        above, camera = ((50, 50),), ((15, 25),)
        y = self.past(torch.cat([before, x], 2), torch.cat([before, x]), above, torch.empty(2, 2500, 1, 1, 1, 2))
        x = self.norms[0](x + self.one(y.mean(0, keepdim=True)))
        # each camera looks for the places that it sees, of which 600 are the most
        queries = x[0].index_select(0, visible.view(-1)).view(6, 600, 256)
        y = self.cameras(queries, seen, camera, torch.empty(6, 600, 1, 1, 1, 2))
        slots = torch.zeros(2500, 256).index_add(0, visible.view(-1), y.view(-1, 256))
        x = self.norms[1](x + self.two(slots))
        return self.norms[2](x + self.wide(x))


class DecoderLayer(nn.Module):
    """900 queries look at each other, then at the map from above."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs, self.output, self.sampling = nn.Linear(256, 768), nn.Linear(256, 256), Sampling(4)
        self.last, self.wide = nn.Linear(256, 256), wide(256)
        self.norms = nn.ModuleList(nn.LayerNorm(256) for _ in range(3))

    def forward(self, x: Tensor, above: Tensor) -> Tensor:
        q, k, v = self.inputs(x).view(1, 900, 3, 8, 32).permute(2, 0, 3, 1, 4).unbind(0)
        weights = ((q * 32**-0.5) @ k.transpose(-2, -1)).softmax(-1)
        x = self.norms[0](x + self.output((weights @ v).transpose(1, 2).reshape(1, 900, 256)))
        y = self.sampling(x, above, ((50, 50),), torch.empty(1, 900, 1, 1, 1, 2))
        x = self.norms[1](x + self.last(y))
        return self.norms[2](x + self.wide(x))


class BevFormer(nn.Module):
    """Li et al., BEVFormer, 2022, in its form `tiny`: a map of 50x50, 3 layers of an encoder, 6 of a decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.narrow, self.smooth = ResNet50(), nn.Conv2d(2048, 256, 1), nn.Conv2d(256, 256, 3, 1, 1)
        self.above, self.queries = nn.Parameter(torch.empty(1, 2500, 256)), nn.Parameter(torch.empty(1, 900, 256))
        self.encoder = nn.ModuleList(EncoderLayer() for _ in range(3))
        self.decoder = nn.ModuleList(DecoderLayer() for _ in range(6))
        self.classes, self.boxes = nn.Linear(256, 10), nn.Linear(256, 10)

    def cameras(self, images: Tensor) -> Tensor:
        x = self.smooth(self.narrow(self.body.blocks(self.body.stem(images))))
        return x.flatten(2).transpose(1, 2)

    def forward(self, seen: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
        x, before = self.above, torch.empty(1, 2500, 256)
        for encoder in self.encoder:
            x = encoder(x, before, seen, visible)
        queries = self.queries
        for decoder in self.decoder:
            queries = decoder(queries, x)
        return self.classes(queries), self.boxes(queries)


def bevformer(recorder: Recorder) -> None:
    """Six cameras of 480x800: detection whole, a training step of the transformer."""
    network = BevFormer()
    network.eval()
    visible = torch.zeros(6, 600, dtype=torch.int64)
    with torch.no_grad(), recorder.during("detection"):
        classes, boxes = network(network.cameras(torch.empty(6, 3, 480, 800)), visible)
        _, order = torch.topk(classes.sigmoid().view(-1), 300)
        boxes[0].index_select(0, order)
    network.train()
    with recorder.during("forward"):
        classes, boxes = network(torch.empty(6, 375, 256), visible)
        loss = focal_loss(classes.view(-1, 10)).sum() + functional.l1_loss(boxes, torch.empty(1, 900, 10))
    with recorder.during("backward"):
        loss.backward()


# ---- StyleGAN2 ------------------------------------------------------------------------------------------------------

BLUR = tuple(tuple(a * b / 64 for b in (1.0, 3.0, 3.0, 1.0)) for a in (1.0, 3.0, 3.0, 1.0))


def resampled(x: Tensor, up: int, down: int, pad: tuple[int, int], gain: float = 1.0) -> Tensor:
    """Upsampling, a small blur, and downsampling; the gradient is the same with both exchanged."""
    kernel = filled((4, 4), tuple(tuple(number * gain for number in row) for row in BLUR))
    before, after = pad
    height, width = (((size * up + before + after - 4) // down + 1) for size in x.shape[2:])
    # what restores the size of x from that of the result, for a filter of 4
    back = (3 - before, x.shape[3] * up - width * down + before - up + 1)

    def call(x: Tensor, up: int, down: int, pad: tuple[int, int]) -> None:
        sizes = {"up_x": up, "up_y": up, "down_x": down, "down_y": down}
        pads = {"pad_x0": pad[0], "pad_x1": pad[1], "pad_y0": pad[0], "pad_y1": pad[1]}
        note("Upfirdn2dOpMmcv", input=x.reshape(-1, *x.shape[2:], 1), kernel=kernel, **sizes, **pads)

    def forward(x: Tensor) -> Tensor:
        call(x, up, down, pad)
        return torch.empty(*x.shape[:2], height, width)

    def backward(grad: Tensor, x: Tensor) -> tuple[Tensor]:
        call(grad, down, up, back)
        return (torch.empty_like(x),)

    return differentiable(forward, backward, x)


def leaky(x: Tensor, bias: Tensor) -> Tensor:
    """Bias, leaky ReLU and a gain of the root of 2. The gradient knows the sign of its input by its output."""
    none = filled((0,), "zeros")

    def forward(x: Tensor, bias: Tensor) -> Tensor:
        note("FusedBiasLeakyreluMmcv", input=x, bias=bias, refer=none)
        return torch.empty_like(x)

    def backward(grad: Tensor, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        note("FusedBiasLeakyreluMmcv", input=grad, bias=none, refer=x, grad=1)
        found = torch.empty_like(x)
        return found, found.sum([dim for dim in range(x.dim()) if dim != 1])

    return differentiable(forward, backward, x, bias)


class Styled(nn.Module):
    """A convolution whose filters a style scales; upsampling ones are transposed and blurred."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 3, up: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, kernel, kernel))
        self.style, self.bias = nn.Linear(512, inputs), nn.Parameter(torch.empty(outputs))
        self.up, self.paints = up, kernel == 1

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        inputs, kernel = self.weight.shape[1:3]
        weight = self.weight * (self.style(style).view(1, inputs, 1, 1) / math.sqrt(inputs * kernel**2))
        if self.paints:
            return functional.conv2d(x, weight) + self.bias.view(1, -1, 1, 1)
        weight = weight * (weight.square().sum([1, 2, 3], keepdim=True) + 1e-8).rsqrt()
        if self.up:
            x = functional.conv_transpose2d(x, weight.transpose(0, 1), stride=2)
            x = resampled(x, 1, 1, (1, 1), 4.0)
        else:
            x = functional.conv2d(x, weight, padding=1)
        return leaky(x + torch.empty(1, 1, *x.shape[2:]), self.bias)


def channels(size: int) -> int:
    """Channels of the feature maps of a size, for a channel multiplier of 2."""
    return min(512, 32768 // size)


class Generator(nn.Module):
    """Karras et al., Analyzing and Improving the Image Quality of StyleGAN, 2020, for images of 256x256."""

    def __init__(self) -> None:
        super().__init__()
        self.mapping = nn.ModuleList(nn.Linear(512, 512, bias=False) for _ in range(8))
        self.shifts = nn.ParameterList(nn.Parameter(torch.empty(512)) for _ in range(8))
        self.start, self.first, self.paint = (
            nn.Parameter(torch.empty(1, 512, 4, 4)),
            Styled(512, 512),
            Styled(512, 3, 1),
        )
        sizes = [8 << k for k in range(6)]
        self.ups = nn.ModuleList(Styled(channels(size // 2), channels(size), 3, True) for size in sizes)
        self.layers = nn.ModuleList(Styled(channels(size), channels(size)) for size in sizes)
        self.paints = nn.ModuleList(Styled(channels(size), 3, 1) for size in sizes)

    def forward(self, noise: Tensor) -> Tensor:
        style = noise * (noise.square().mean(1, keepdim=True) + 1e-8).rsqrt()
        for layer, shift in zip(self.mapping, self.shifts, strict=True):
            style = leaky(layer(style), shift)
        x = self.first(self.start, style)
        image = self.paint(x, style)
        for up, layer, paint in zip(self.ups, self.layers, self.paints, strict=True):
            x = layer(up(x, style), style)
            image = paint(x, style) + resampled(image, 2, 1, (2, 1), 4.0)
        return image


class Discriminator(nn.Module):
    """Residual blocks that halve the image, down to 4x4, and one number."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [256 >> k for k in range(6)]
        self.start = nn.Conv2d(3, channels(256), 1, bias=False)
        self.same = nn.ModuleList(nn.Conv2d(channels(s), channels(s), 3, 1, 1, bias=False) for s in sizes)
        self.down = nn.ModuleList(nn.Conv2d(channels(s), channels(s // 2), 3, 2, bias=False) for s in sizes)
        self.skips = nn.ModuleList(nn.Conv2d(channels(s), channels(s // 2), 1, 2, bias=False) for s in sizes)
        widths = [channels(256), *(width for s in sizes for width in (channels(s), channels(s // 2)))]
        self.shifts = nn.ParameterList(nn.Parameter(torch.empty(width)) for width in [*widths, 512, 512])
        self.last, self.linear = nn.Conv2d(513, 512, 3, 1, 1, bias=False), nn.Linear(8192, 512, bias=False)
        self.score = nn.Linear(512, 1)

    def forward(self, image: Tensor) -> Tensor:
        shifts = iter(self.shifts)
        x = leaky(self.start(image), next(shifts))
        for same, down, skip in zip(self.same, self.down, self.skips, strict=True):
            y = leaky(same(x), next(shifts))
            y = leaky(down(resampled(y, 1, 1, (2, 2))), next(shifts))
            x = (y + skip(resampled(x, 1, 1, (1, 1)))) / math.sqrt(2)
        x = leaky(self.last(torch.cat([x, torch.zeros(1, 1, 4, 4)], 1)), next(shifts))
        x = leaky(self.linear(x.flatten(1)), next(shifts))
        found: Tensor = self.score(x)
        return found


def stylegan2(recorder: Recorder) -> None:
    """1 image of 256x256: a step of the generator through the discriminator."""
    generator, discriminator = Generator(), Discriminator()
    with recorder.during("forward"):
        loss = functional.softplus(-discriminator(generator(torch.empty(1, 512)))).mean()
    with recorder.during("backward"):
        loss.backward()
