"""What this package adds to `sixnimmt_env.agents`. Light to import: torch is loaded when a policy is."""

from __future__ import annotations

import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from sixnimmt_env.agents import Agent, make, names
from sixnimmt_env.core.game import Game, Rules

_LENGTH: Final = ("rounds", "target", "exceed_target")  # rules that say how long a match is, and nothing about play


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


def rules_of(agent: Agent) -> Any:
    """The rules that a learned policy was trained on; None for other agents."""
    return getattr(getattr(agent, "policy", None), "rules", None)


def variant_note(agent: Agent, rules: Rules) -> str:
    """What is said where `agent` learned another variant than `rules`, whatever the length of the match; else ""."""
    trained = rules_of(agent)
    if trained is None or _variant(trained) == _variant(rules):
        return ""
    return f"Note: {agent.name} was trained on another variant or number of players, which it plays better than this."


def _variant(rules: Any) -> dict[str, Any]:
    variant = {field.name: getattr(rules, field.name) for field in fields(rules) if field.name not in _LENGTH}
    if "deck_size" in variant:
        variant["deck_size"] = rules.highest_card  # a size that is left out and the same size written down are one deck
    return variant


def one_thread() -> None:
    """To be called before a policy plays: its network is so small that more threads than one only wait for each other."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
