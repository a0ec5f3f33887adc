"""Short trainings with the libraries that people use, one script a library and form of the environment: examples to copy, and checks.

`python -m tests.interop` runs them, each in a virtual environment with the library that it needs. This is the one table of them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Script:
    """A script of this folder.

    Attributes:
        name: of the module; its `main(total_steps)` trains for that many decisions, plays without an illegal action, and returns the mean
            bull heads a match against random players.
        libraries: distributions whose versions are quoted.
        form: of the environment.
        extra: of the project, with which all it needs is installed; scripts of one extra share a virtual environment.
        modules: what must be importable.
        usual: whether the `test` extra installs that, so that the usual test run has it.
        short: `total_steps` of the tests.
    """

    name: str
    libraries: tuple[str, ...]
    form: str
    extra: str
    modules: tuple[str, ...]
    usual: bool
    short: int


SCRIPTS = (
    Script("sb3_ppo", ("stable-baselines3",), "gymnasium.make", "interop", ("stable_baselines3",), True, 2_048),
    Script("maskable_ppo", ("sb3-contrib",), "gymnasium.make", "interop", ("sb3_contrib",), True, 1_024),
    Script("maskable_ppo_vector", ("sb3-contrib",), "gymnasium.make_vec", "interop", ("sb3_contrib",), True, 2_048),
    Script("cleanrl_style", ("torch", "gymnasium"), "gymnasium.make_vec", "interop", ("torch",), True, 4_096),
    Script("torchrl_ppo", ("torchrl", "pettingzoo"), "parallel_env", "interop", ("torchrl",), False, 2_048),
    Script("torchrl_vector", ("torchrl", "gymnasium"), "gymnasium.make_vec", "interop", ("torchrl",), False, 1_024),
    Script("tianshou_dqn", ("tianshou", "gymnasium"), "gymnasium.make", "interop", ("tianshou",), False, 1_024),
    Script("tianshou_selfplay", ("tianshou", "pettingzoo"), "env (AEC)", "interop", ("tianshou",), False, 1_024),
    Script("rllib_ppo", ("ray", "pettingzoo"), "parallel_env", "rllib", ("ray",), False, 2_000),
    Script("rllib_masking", ("ray", "gymnasium"), "gymnasium.make", "rllib", ("ray",), False, 1_000),
    Script("agilerl_ppo", ("agilerl", "gymnasium"), "gymnasium.make_vec", "agilerl", ("agilerl", "peft"), False, 2_048),
    Script("open_spiel_exact", ("open_spiel", "cvxpy"), "pyspiel.load_game", "openspiel", ("pyspiel", "ecos"), False, 2_000),
)
