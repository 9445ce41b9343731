"""Models in plain torch.nn, small enough to train in seconds: what the tests and `make demo-torch` train.

Nothing here knows a device. Each class says the shape that it takes and gives.
"""

from models.attention import BertEncoder, LlamaDecoder, VisionTransformer
from models.convolution import MobileNetV2, UNet, resnet18, resnet50
from models.simple import LSTMClassifier, MultiLayerPerceptron

__all__ = [
    "BertEncoder",
    "LSTMClassifier",
    "LlamaDecoder",
    "MobileNetV2",
    "MultiLayerPerceptron",
    "UNet",
    "VisionTransformer",
    "resnet18",
    "resnet50",
]
