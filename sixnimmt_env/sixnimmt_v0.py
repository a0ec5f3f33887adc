"""6 nimmt! for PettingZoo.

```python
from sixnimmt_env import sixnimmt_v0

env = sixnimmt_v0.env(num_players=4)
env.reset(seed=0)
for agent in env.agent_iter():
    observation, reward, terminated, truncated, info = env.last()
    if terminated or truncated:
        action = None
    else:
        action = env.action_space(agent).sample(observation["action_mask"])
    env.step(action)
```

| | |
|---|---|
| agents | `player_0` ... `player_9`, as many as play |
| actions | `Discrete(113)` |
| observation | `Dict(observation=Box(0, 1, (1367,), float32), action_mask=Box(0, 1, (113,), int8))`, whatever is played by however many |
| rewards | minus the bull heads taken, when they are taken |
| termination | all agents together, when the match is over; there is no truncation |

Actions: card c is `c - 1` (pick it from the hand, or take it in the draft of "logic"); row r is `104 + r` (take it, or lay at its
end); front of row r is `108 + r` (professional only); 112 is wait, legal only in the
parallel form, for a seat that has nothing to decide.

The other forms play the same games from the same seeds: `parallel_env` (PettingZoo, all seats act in every step), `gym_env` and
`gym_vector_env` (one seat against agents). Importing the package registers `sixnimmt_env/SixNimmt-v0` with Gymnasium (`gymnasium.make`,
`gymnasium.make_vec`) and `sixnimmt_env/sixnimmt-v0` with PettingZoo, where that has a registry.

Version history: v0, first release.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

from gymnasium.vector import AutoresetMode

from .envs.aec import AECGameEnv
from .envs.parallel import ParallelGameEnv
from .envs.seats import Seat
from .envs.single import Opponents, SeatEnv
from .envs.table import IllegalAction
from .envs.vector import SeatVectorEnv
from .games import sixnimmt
from .games.sixnimmt.rules import Deck

__all__ = ["env", "gym_env", "gym_vector_env", "parallel_env", "raw_env"]

_NAME = "sixnimmt_v0"


class Sizes(TypedDict, total=False):
    """Smaller games, for study; `games.sixnimmt.rules.Rules` explains them."""

    hand_size: int
    num_rows: int
    row_capacity: int
    deck_size: int | None


class Variant(Sizes, total=False):
    """What is played, with the defaults of `games.sixnimmt.rules.Rules`: four players, one round, the standard deck."""

    num_players: int
    deck: Deck
    professional: bool
    rounds: int | None
    target: int | None
    exceed_target: bool


class SeatOptions(Variant, total=False):
    """The options of the single-agent form, see `envs.single.SeatEnv`."""

    opponents: Opponents
    seat: Seat
    illegal_action: IllegalAction
    render_mode: str | None


class VectorOptions(Variant, total=False):
    """The options of the vector form, see `envs.vector.SeatVectorEnv`."""

    num_envs: int
    opponents: Opponents
    seat: Seat
    illegal_action: IllegalAction
    autoreset_mode: str | AutoresetMode
    render_mode: str | None


def raw_env(
    num_players: int = 4,
    deck: Deck = "standard",
    professional: bool = False,
    rounds: int | None = 1,
    target: int | None = None,
    exceed_target: bool = False,
    illegal_action: IllegalAction = "raise",
    render_mode: str | None = None,
    max_cycles: int | None = None,
    **sizes: Unpack[Sizes],
) -> AECGameEnv:
    """The PettingZoo AEC environment: seats act one after the other, simultaneous choices hidden until all are made.

    Args:
        num_players: 2 to 10.
        deck: "standard" | "tactical" | "logic".
        professional: cards may join either side of a row.
        rounds: rounds of the match, 1 by default; None for a match to `target`.
        target: the match ends with the round in which a total reaches it (`rounds=None, target=66`).
        exceed_target: ... exceeds it.
        illegal_action: "raise" | "replace" | "terminate", see `envs.table.Table`.
        render_mode: "ansi" | "rgb_array" | "human" | None.
        max_cycles: truncate the match after this many cycles, see `envs.table.Table`.
        sizes: smaller games, for study: hand_size, num_rows, row_capacity, deck_size.

    Raises:
        ValueError: an impossible variant; the message says what would be possible.
        TypeError: an unknown option.
    """
    _check(sizes, raw_env)
    rules = sixnimmt.Rules(num_players, deck, professional, rounds, target, exceed_target, **sizes)
    return AECGameEnv(sixnimmt.GAME, rules, _NAME, illegal_action, render_mode, max_cycles)


env = raw_env  # the checks of PettingZoo's wrappers are made inside, so there is nothing to wrap


def parallel_env(
    num_players: int = 4,
    deck: Deck = "standard",
    professional: bool = False,
    rounds: int | None = 1,
    target: int | None = None,
    exceed_target: bool = False,
    illegal_action: IllegalAction = "raise",
    render_mode: str | None = None,
    max_cycles: int | None = None,
    **sizes: Unpack[Sizes],
) -> ParallelGameEnv:
    """The PettingZoo parallel environment: all seats act in every step, or wait. Takes what `raw_env` takes."""
    _check(sizes, parallel_env)
    rules = sixnimmt.Rules(num_players, deck, professional, rounds, target, exceed_target, **sizes)
    return ParallelGameEnv(sixnimmt.GAME, rules, _NAME, illegal_action, render_mode, max_cycles)


def gym_env(**options: Unpack[SeatOptions]) -> SeatEnv:
    """The Gymnasium environment: one seat against agents. Options: as `raw_env`, by name, and opponents=["random"], seat="random"."""
    rules, rest = _split(options, SeatOptions)
    return SeatEnv(sixnimmt.GAME, rules, **rest)


def gym_vector_env(**options: Unpack[VectorOptions]) -> SeatVectorEnv:
    """The Gymnasium vector environment over the batched engine. Options: as `gym_env`, and num_envs=1, autoreset_mode="NextStep".

    `render_mode` is "rgb_array" | "ansi" | None here.
    """
    rules, rest = _split(options, VectorOptions)
    return SeatVectorEnv(sixnimmt.GAME, rules, **rest)


def _split(options: Any, known: type) -> tuple[sixnimmt.Rules, dict[str, Any]]:
    """The rules that `options` name, and the other options, all of which must be `known`."""
    _refuse_unknown(options, list(known.__annotations__))
    rules = {field.name for field in dataclasses.fields(sixnimmt.Rules)}
    return (
        sixnimmt.Rules(**{name: value for name, value in options.items() if name in rules}),
        {name: value for name, value in options.items() if name not in rules},
    )


def _check(sizes: Any, door: Callable[..., Any]) -> None:
    named = [name for name in inspect.signature(door).parameters if name != "sizes"]
    _refuse_unknown(sizes, [*named, *Sizes.__annotations__])


def _refuse_unknown(options: Any, allowed: list[str]) -> None:
    """`TypeError` with the nearest that is allowed for an unknown option."""
    for name in options:
        if name not in allowed:
            close = difflib.get_close_matches(name, allowed, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise TypeError(f"option {name!r} is unknown: {hint}there are {', '.join(allowed)}")
