"""What this package adds to `sixnimmt_env.agents`. Light to import: torch is loaded when a policy is."""

from __future__ import annotations

from sixnimmt_env.agents import Agent
from sixnimmt_env.core.game import Game


def policy(game: Game, argument: str, seed: int) -> Agent:
    """a learned policy, by argmax: policy:PATH, a run folder or a policy file"""
    if not argument:
        raise ValueError("agent 'policy' needs a path: policy:runs/quickstart")
    try:
        from .policy import PolicyError, load  # torch takes seconds to import
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "training":
            raise
        raise ValueError(f"agent 'policy' needs {error.name}, which is not installed: pip install 'sixnimmt-env[train]'") from error
    agent = load(argument)
    if agent.game is not game:
        raise PolicyError(f"{argument}: plays {agent.game.name}, not {game.name}")
    return agent
