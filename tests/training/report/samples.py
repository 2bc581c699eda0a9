# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of the sizes that people have, made up: evaluations, searches, logs."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Final

from passpilot.features.llvm.inline import DECISION, FEATURES
from passpilot.features.point import find_point

BASELINES: Final = ("-Oz", "-Os", "-O2", "-Oz, outlined")
POLICIES: Final = ("decisions:{program}.decisions", "inline=onnx:model.onnx")
HOSTILE: Final = "</script><script>alert(1)</script>"
"""A name of a function that ends a script, if a page lets it."""


def evaluation(
    programs: int, seed: int = 1, contenders: tuple[str, ...] = (*BASELINES, *POLICIES)
) -> dict[str, object]:
    """An evaluation of so many programs."""
    draw = random.Random(seed)
    rows = []
    for number in range(programs):
        base = int(10 ** (3.8 + number * 0.37 % 2.4))
        names = [
            f"_ZN5prog{number % 10}3runEi",
            HOSTILE,
            *(f"function_{at}" for at in range(draw.randint(5, 300))),
        ]
        weights = [draw.paretovariate(1.1) for _ in names]
        sizes: dict[str, list[int]] = {}
        results: dict[str, object] = {}
        for at, name in enumerate(contenders):
            ratio = (1, 1.06, 1.32, 0.975, 0.93, 0.985)[at % 6] * (1 if not at else draw.gauss(1, 0.02))
            linked, speed = int(base * ratio), draw.gauss(1, 0.03) if at else 1.0
            results[name] = {
                "allocated": linked,
                "text": int(linked * 0.7),
                "stripped": linked + 2000,
                "xz": int(linked * 0.4),
                "objects": int(linked * 1.1 * draw.gauss(1, 0.01)),
                "compile_seconds": base / 2e5 * (1 + 0.1 * at) * draw.gauss(1, 0.02),
                "decisions": int(base / 60) if name in POLICIES else None,
                "agreed": int(base / 66) if name in POLICIES else None,
                "run": {
                    "seconds": draw.uniform(0.1, 2),
                    "ratio": speed,
                    "low": speed - 0.02,
                    "high": speed + 0.02,
                    "pairs": 7,
                },
                "output": "right",
                "errors": [f"src/a.c: expected an object, got: {HOSTILE}"] if number == 1 and at == 4 else [],
            }
            whole = sum(weights)
            sizes[name] = [
                0 if draw.random() < 0.03 else int(linked * each / whole * draw.gauss(1, 0.12))
                for each in weights
            ]
        rows.append(
            {
                "name": f"program-{number}" if number else "lua",
                "language": "c" if number % 3 else "c++",
                "units": draw.randint(1, 60),
                "results": results,
                "functions": {"names": names, "sizes": sizes, "rest": dict.fromkeys(contenders, 1000)},
            }
        )
    return {
        "format": "passpilot eval 2",
        "contenders": [
            {"name": each, "kind": "policy" if each in POLICIES else "baseline"} for each in contenders
        ],
        "baselines": [each for each in BASELINES if each in contenders],
        "programs": rows,
        "summary": {},
    }


def search(steps: int, seed: int = 1) -> dict[str, object]:
    """The result of a search."""
    draw = random.Random(seed)
    start = size = 231_000
    curve = [[1, 0.4, size]]
    for step in range(1, steps):
        size -= int(draw.expovariate(1) * 9000 / step)
        curve.append([curve[-1][0] + draw.randint(1, 8), curve[-1][1] + draw.uniform(0.2, 3), size])
    names = [f"function_{at}" for at in range(700)]
    before = {name: int(200 * draw.paretovariate(1.2)) for name in names}
    after = {
        name: int(size_ * draw.gauss(0.97, 0.1)) for name, size_ in before.items() if draw.random() > 0.05
    }
    after["outlined"] = 4000
    units = [
        {
            "name": f"src/l{at}.c",
            "start": 7000 + 91 * at,
            "text": int((7000 + 91 * at) * draw.gauss(0.95, 0.03)),
            "calls": at,
        }
        for at in range(33)
    ]
    return {
        "curve": curve,
        "functions": {"before": before, "after": after},
        "units": units,
        "start": start,
        "text": size,
        "reward": ".text of the linked program",
    }


def write_log(path: Path, decisions: int, seed: int = 1, modules: int = 1) -> Path:
    """A log of the inliner."""
    draw = random.Random(seed)
    specs = [row.spec for row in FEATURES] + [find_point("inline").default, DECISION]
    names = [HOSTILE, *(f"function_{at}" for at in range(max(2, decisions // 12)))]
    with path.open("wb") as file:
        file.write(json.dumps({"features": [spec.to_json() for spec in specs]}).encode() + b"\n")
        for module in range(modules):
            file.write(json.dumps({"context": f"src/module{module}.c"}).encode() + b"\n")
            for number in range(decisions // modules):
                caller = names[min(len(names) - 1, int(draw.paretovariate(0.6)) - 1)]
                callee = names[min(len(names) - 1, int(draw.paretovariate(0.5)) - 1)]
                where = f"module{module}.c:{draw.randint(1, 4000)}:{draw.randint(1, 80)}"
                event = {"observation": number, "caller": caller, "callee": callee, "location": where}
                file.write(json.dumps(event).encode() + b"\n")
                default = draw.random() < 0.4
                advice = default != (draw.random() < 0.08)
                values = [int(draw.expovariate(1 / 40)) - (at == 0) for at in range(len(FEATURES))]
                file.write(struct.pack(f"{len(specs)}q", *values, default, advice) + b"\n")
    return path
