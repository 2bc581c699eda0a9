# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports the PyTorch policies beside this file; kept for the record, as torch is no dependency.

    pip install torch onnx onnxscript && python tests/runners/models/export.py

`actor-13.onnx` and the like are by torch.onnx's exporter of TorchScript, of that opset; `*-dynamo.onnx` by
its newer one.
"""

from __future__ import annotations

from pathlib import Path

import onnx
import torch
from torch import Tensor, nn


class Actor(nn.Module):
    """An actor as in reinforcement learning: normalised observations, two tanh layers, probabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(38)
        self.body = nn.Sequential(
            nn.Linear(38, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 2)
        )

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.body(self.norm(observation))
        return torch.softmax(logits, -1), logits.argmax(-1)


class Residual(nn.Module):
    """Layer normalisation, residual layers and the less usual activations."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(38, 24)
        self.layers = nn.ModuleList(nn.Linear(24, 24) for _ in range(4))
        self.norms = nn.ModuleList(nn.LayerNorm(24) for _ in range(4))
        self.activations = nn.ModuleList([nn.LeakyReLU(0.1), nn.ELU(), nn.GELU(), nn.SiLU()])
        self.last = nn.Linear(24, 1)

    def forward(self, observation: Tensor) -> Tensor:
        x = self.first(torch.sign(observation) * torch.log1p(observation.abs()))
        for layer, norm, activation in zip(self.layers, self.norms, self.activations, strict=True):
            x = x + activation(layer(norm(x)))
        return torch.sigmoid(self.last(x))


class Columns(nn.Module):
    """Attention over the 33 columns of an eviction: an embedding, two heads, masked logits."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = nn.Embedding(8, 12)
        self.lift = nn.Linear(4, 12)
        self.attention = nn.MultiheadAttention(12, 2, batch_first=True)
        self.score = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, columns: Tensor, kind: Tensor, mask: Tensor) -> Tensor:
        x = self.kinds(kind.clamp(0, 7)) + self.lift(columns)
        x = x + self.attention(x, x, x, need_weights=False)[0]
        logits = self.score(x).squeeze(-1)
        return torch.where(mask != 0, logits, torch.full_like(logits, -1e9))


class Recurrent(nn.Module):
    """One step of a GRU cell written out, over its own state."""

    def __init__(self) -> None:
        super().__init__()
        self.inward, self.across, self.out = nn.Linear(16, 36), nn.Linear(12, 36), nn.Linear(12, 1)

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        reset, update, new = self.inward(x).chunk(3, -1)
        reset_state, update_state, new_state = self.across(state).chunk(3, -1)
        gate = torch.sigmoid(update + update_state)
        fresh = torch.tanh(new + torch.sigmoid(reset + reset_state) * new_state)
        state = (1 - gate) * fresh + gate * state
        return self.out(state).exp().clamp(max=100.0), state


POLICIES = {
    "actor": ((13,), Actor, (torch.randn(1, 38),), ["x"], ["probabilities", "action"]),
    "residual": ((13, 17), Residual, (torch.randn(1, 38),), ["x"], ["probability"]),
    "columns": (
        (14,),
        Columns,
        (torch.randn(1, 33, 4), torch.zeros(1, 33, dtype=torch.int64), torch.ones(1, 33, dtype=torch.int64)),
        ["columns", "kind", "mask"],
        ["logits"],
    ),
    "recurrent": (
        (13,),
        Recurrent,
        (torch.randn(1, 16), torch.randn(1, 12)),
        ["x", "state"],
        ["priority", "after"],
    ),
}


def main() -> None:
    """Write the models."""
    folder = Path(__file__).parent
    for name, (opsets, kind, example, inputs, outputs) in POLICIES.items():
        torch.manual_seed(7)
        policy = kind()
        for _ in range(3):  # statistics for the batch normalisation
            policy(*(each.repeat(9, *[1] * (each.dim() - 1)) + _noise(each) for each in example))
        policy.eval()
        names = {"input_names": inputs, "output_names": outputs}
        for opset in opsets:
            path = folder / f"{name}-{opset}.onnx"
            torch.onnx.export(policy, example, path, opset_version=opset, dynamo=False, **names)
        path = folder / f"{name}-dynamo.onnx"
        torch.onnx.export(policy, example, path, dynamo=True, external_data=False, **names)
        _without_metadata(path)


def _noise(like: Tensor) -> Tensor:
    return torch.randn(9, *like.shape[1:]) if like.is_floating_point() else torch.zeros_like(like[:1])


def _without_metadata(path: Path) -> None:
    """Remove the Python stacks, with this machine's paths, that the newer exporter writes for every node."""
    model = onnx.load(path)
    model.graph.ClearField("metadata_props")
    model.graph.ClearField("value_info")
    for each in (*model.graph.node, *model.graph.input, *model.graph.output):
        each.ClearField("metadata_props")
        each.ClearField("doc_string")
    onnx.save(model, path)


if __name__ == "__main__":
    main()
