"""What this package adds to `sixnimmt_env.agents`. Light to import: torch is loaded when a policy is."""

from __future__ import annotations

import os
from pathlib import Path

from sixnimmt_env.agents import Agent, make, names
from sixnimmt_env.core.game import Game


def agent_of(spec: str, game: str | Game = "sixnimmt", seed: int = 0) -> Agent:
    """The agent that `spec` names, or the policy at the path `spec`. `ValueError` that says what is wrong."""
    path = Path(spec)
    known = names(game if isinstance(game, str) else game.name)
    looks_like_a_path = os.sep in spec or path.exists() or path.suffix in (".safetensors", ".json")
    if spec and spec not in known and ":" not in spec and looks_like_a_path:
        spec = f"policy:{spec}"  # which says what is wrong with the path
    return make(spec, game, seed=seed)


def policy(game: Game, argument: str, seed: int) -> Agent:
    """a learned policy, by argmax: policy:PATH, a run folder or a policy file"""
    if not argument:
        raise ValueError("agent 'policy' needs a path: policy:runs/quickstart")
    try:
        from .policy import PolicyError, load  # torch takes seconds to import
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "training":
            raise
        raise ValueError(
            f"agent 'policy' needs {error.name}, which is not installed: python -m pip install torch==2.13.0 'sixnimmt-env[train]'"
        ) from error
    agent = load(argument)
    if agent.game is not game:
        raise PolicyError(f"{argument}: plays {agent.game.name}, not {game.name}")
    return agent
