# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interference graph at a function's first question, as three tensors.

153,300 floats: for every live range an embedding of 100, computed from its weight and size; the edges as
pairs of rows, and their weights.

With EXCHANGE_PORT in the environment, every decision also waits for an answer over TCP, as that of any model
in another process: `bench.lib.peers.exchanging` answers at once.
"""

from __future__ import annotations

import os
import socket
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from passpilot import feature, interference_graph

Floats = NDArray[np.float32]

NODES: Final = 600
WIDTH: Final = 100
EDGES: Final = 31_100
QUESTION: Final = bytes(549)
"""As large as what `grpc:` sends for most decisions."""


class Snapshot:
    def __init__(self, function: Any) -> None:
        self.vectors = np.zeros((NODES, WIDTH), np.float32)
        self.edges = np.zeros((EDGES, 2), np.float32)
        self.weights = np.zeros((EDGES,), np.float32)
        graph = interference_graph(function)
        rows = {node: row for row, node in zip(range(NODES), graph, strict=False)}
        for node, row in rows.items():
            attributes = graph.nodes[node]
            weight, size = min(attributes["weight"], 1e6), attributes["size"]
            self.vectors[row] = np.sin(np.arange(WIDTH) * (1 + weight) + size)
        pairs = [(rows[a], rows[b]) for a, b in graph.edges if a in rows and b in rows][:EDGES]
        self.edges[: len(pairs)] = pairs or np.zeros((0, 2))
        self.weights[: len(pairs)] = 1
        for array in (self.vectors, self.edges, self.weights):
            array.setflags(write=False)  # the same at many decisions: neither copied nor sent again


_kept: dict[str, Snapshot] = {}


def _snapshot(site: Any) -> Snapshot:
    name = site.function.name
    if name not in _kept:
        _kept.clear()
        _kept[name] = Snapshot(site.function)
    return _kept[name]


@cache
def _connected() -> socket.socket | None:
    if not (port := os.environ.get("EXCHANGE_PORT")):
        return None
    connection = socket.create_connection(("127.0.0.1", int(port)), 60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _exchange() -> None:
    if connection := _connected():
        connection.sendall(QUESTION)
        assert connection.recv(64)


@feature(f"float32[{NODES},{WIDTH}]", point="evict")
def graph_vectors(site: Any) -> Floats:
    """Embeddings of the live ranges."""
    return _snapshot(site).vectors


@feature(f"float32[{EDGES},2]", point="evict")
def graph_edges(site: Any) -> Floats:
    """The rows of two live ranges that overlap."""
    return _snapshot(site).edges


@feature(f"float32[{EDGES}]", point="evict")
def graph_weights(site: Any) -> Floats:
    """1 for every edge."""
    _exchange()
    return _snapshot(site).weights
