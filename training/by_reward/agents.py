# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ppo` and `dqn`: agents of stable-baselines3 learn from compilations; only a call imports PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from passpilot.plugin.extras import needs
from passpilot.plugin.load import load_file
from passpilot.training.by_reward.settings import ReinforceSettings
from passpilot.training.learning.toml_settings import settings_from

if TYPE_CHECKING:
    from passpilot.training.by_reward.reinforce import Reinforcement
    from passpilot.training.learning.training import TrainedModel

    Callbacks = Sequence[Callable[[Reinforcement, Mapping[str, float]], object]]


def ppo(
    settings: str | Mapping[str, object],
    output: str,
    *,
    resume: bool = False,
    load: Sequence[str] = (),
    callbacks: Callbacks = (),
    command: str = "",
) -> TrainedModel:
    """Let an agent learn by PPO with masks, as `passpilot train ppo` does.

    Args:
        settings: a TOML file, or a mapping with the same keys; paths are relative to the file's folder.
        output: the folder of the model.
        resume: whether to go on from the checkpoint in the folder, if there is one.
        load: Python files to run first, which register features and passes.
        callbacks: functions that are called with the training and every new row of the curve.
        command: what the card says was called.

    Raises:
        Error: a file or a setting is wrong, or nothing is decided in the modules.
    """
    return _learned("ppo", settings, output, resume, load, callbacks, command)


def dqn(
    settings: str | Mapping[str, object],
    output: str,
    *,
    resume: bool = False,
    load: Sequence[str] = (),
    callbacks: Callbacks = (),
    command: str = "",
) -> TrainedModel:
    """Let an agent learn by DQN, as `passpilot train dqn` does; the arguments are those of `ppo`."""
    return _learned("dqn", settings, output, resume, load, callbacks, command)


def _learned(
    method: str,
    settings: str | Mapping[str, object],
    output: str,
    resume: bool,
    load: Sequence[str],
    callbacks: Callbacks,
    command: str,
) -> TrainedModel:
    with needs("train", f"train {method}"), needs("rl", f"train {method}"):
        from passpilot.training.by_reward.reinforce import Reinforcement
    for file in load:
        load_file(file)
    found, base = settings_from(settings, ReinforceSettings)
    return Reinforcement(
        method, found, base, output, callbacks=callbacks, resume=resume, command=command
    ).run()
