"""What this package adds to `sixnimmt_env.agents`. Light to import: torch is loaded when a policy is."""

from __future__ import annotations

import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from sixnimmt_env.agents import Agent, make, names
from sixnimmt_env.agents.options import Option, read
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
    return _learned(game, Path(argument), f"policy:{argument}")


SHIPPED: Final = Path(__file__).parent / "policies"
"""The policies that come with this package, in a folder a game."""


def champion(game: Game, argument: str, seed: int) -> Agent:
    """the policies that come with this package, see configs/champion.yaml: champion, or champion:NAME for a variant's own"""
    here = sorted(path.stem for path in (SHIPPED / game.name).glob("*.safetensors"))
    spec = f"champion:{argument}" if argument else "champion"
    specs = {f"champion:{name}" if name != "champion" else name: name for name in here}
    if spec not in specs:
        raise ValueError(f"agent {spec!r}: there are {', '.join(specs)} for {game.name}")
    return _learned(game, SHIPPED / game.name / specs[spec], spec)


def _learned(game: Game, path: Path, name: str) -> Agent:
    try:
        from .policy import LearnedAgent, PolicyError, read  # torch takes seconds to import
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "training":
            raise
        install = "python -m pip install torch==2.13.0 'sixnimmt-env[train]'"
        raise ValueError(f"agent {name.partition(':')[0]!r} needs {error.name}, which is not installed: {install}") from error
    found = read(path)
    if found.game is not game:
        raise PolicyError(f"{path}: plays {found.game.name}, not {game.name}")
    return LearnedAgent(found, name)


LOOKAHEAD: Final = (
    Option("worlds", int, 32, "imagined worlds for a decision", 1, 4096),
    Option("seconds", float, None, "think as long for each decision instead", 1e-4, 3600.0),
    Option("width", int, 6, "candidate actions", 1, 113),
    Option("temperature", float, 0.5, "of the others' choices", 0.0, 100.0),
    Option("trust", float, 0.2, "bull heads that a factor e in the policy's probabilities is worth", 0.0, 1000.0),
    Option("models", str, "self", "whom the others are taken for, such as self+self+greedy"),
)


def lookahead(game: Game, argument: str, seed: int) -> Agent:
    """a learned policy that tries its best actions in imagined worlds, against others like itself: lookahead:worlds=32,of=PATH"""
    options, sign, inner = f",{argument}".partition(",of=")
    if not sign or not inner:
        raise ValueError(f"agent 'lookahead:{argument}' must end in the policy that looks ahead: lookahead:worlds=32,of=runs/quickstart")
    given = read("lookahead", options[1:], LOOKAHEAD)
    learned = agent_of(inner, game, seed)
    found = policy_of(learned)
    if found is None:
        raise ValueError(f"agent 'lookahead:{argument}': {inner!r} is no learned policy")
    from .lookahead import LookaheadAgent

    names = given.pop("models").split("+")
    models = [found if name == "self" else _model(agent_of(name, game, seed)) for name in names]
    return LookaheadAgent(found, f"lookahead:{argument}", seed, models=models, **given)


def _model(agent: Agent) -> Any:
    """A policy, whose probabilities are drawn from, or else the agent."""
    return policy_of(agent) or agent


def policy_of(agent: Agent) -> Any:
    """The learned policy that `agent` is; None for other agents, such as those that ask one, or search with one."""
    found = None if hasattr(agent, "models") else getattr(agent, "policy", None)
    return found if hasattr(found, "network") else None  # others have a playouts' policy by that name


def policies_of(agent: Agent) -> list[Any]:
    """The learned policies that `agent` plays by, asks, or takes others for, the one it plays by first."""
    found: list[Any] = []
    for each in (getattr(agent, "policy", None), *getattr(agent, "inner", ()), *getattr(agent, "models", ())):
        if hasattr(each, "network"):
            found.append(each)
        elif hasattr(each, "act"):
            found += policies_of(each)
    return found


def rules_of(agent: Agent) -> Any:
    """The rules that a learned policy was trained on, or the first that `agent` asks; None for agents without any."""
    return next((policy.rules for policy in policies_of(agent)), None)


def variant_note(agent: Agent, rules: Rules) -> str:
    """What is said where `agent` learned another variant than `rules`, whatever the length of the match; else ""."""
    known = ([policy.rules, *policy.variants] for policy in policies_of(agent))
    if all(any(_variant(each) == _variant(rules) for each in learned) for learned in known):
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
