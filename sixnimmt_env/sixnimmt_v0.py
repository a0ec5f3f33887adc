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


class Variant(TypedDict, total=False):
    """What is played: the options of every form, with the defaults of `games.sixnimmt.rules.Rules`, which explains them.

    By default four players play one round with the standard deck. A match to 66 heads is `rounds=None, target=66`.
    """

    num_players: int
    deck: Deck
    professional: bool
    rounds: int | None
    target: int | None
    exceed_target: bool
    hand_size: int
    num_rows: int
    row_capacity: int
    deck_size: int | None


class TableOptions(Variant, total=False):
    """The options of the PettingZoo forms, see `envs.table.Table`: "raise" | "replace" | "terminate", and "ansi" | "human" | None."""

    illegal_action: IllegalAction
    render_mode: str | None


class SeatOptions(TableOptions, total=False):
    """The options of the single-agent form, see `envs.single.SeatEnv`."""

    opponents: Opponents
    seat: Seat


class VectorOptions(Variant, total=False):
    """The options of the vector form, see `envs.vector.SeatVectorEnv`."""

    num_envs: int
    opponents: Opponents
    seat: Seat
    illegal_action: IllegalAction
    autoreset_mode: str | AutoresetMode


def raw_env(**options: Unpack[TableOptions]) -> AECGameEnv:
    """The PettingZoo AEC environment: seats act one after the other, simultaneous choices hidden until all are made.

    Args:
        options: those of `TableOptions`, for example num_players=4, deck="standard", professional=False, rounds=1, target=None,
            exceed_target=False, illegal_action="raise", render_mode=None, which are the defaults.

    Raises:
        ValueError: an impossible variant; the message says what would be possible.
        TypeError: an unknown option.
    """
    rules, rest = _split(options, TableOptions)
    return AECGameEnv(sixnimmt.GAME, rules, _NAME, **rest)


env = raw_env  # the checks of PettingZoo's wrappers are made inside, so there is nothing to wrap


def parallel_env(**options: Unpack[TableOptions]) -> ParallelGameEnv:
    """The PettingZoo parallel environment: all seats act in every step, or wait. Options: as `raw_env`."""
    rules, rest = _split(options, TableOptions)
    return ParallelGameEnv(sixnimmt.GAME, rules, _NAME, **rest)


def gym_env(**options: Unpack[SeatOptions]) -> SeatEnv:
    """The Gymnasium environment: one seat against agents. Options: as `raw_env`, and opponents=["random"], seat="random"."""
    rules, rest = _split(options, SeatOptions)
    return SeatEnv(sixnimmt.GAME, rules, **rest)


def gym_vector_env(**options: Unpack[VectorOptions]) -> SeatVectorEnv:
    """The Gymnasium vector environment over the batched engine. Options: as `gym_env`, and num_envs=1, autoreset_mode="NextStep"."""
    rules, rest = _split(options, VectorOptions)
    return SeatVectorEnv(sixnimmt.GAME, rules, **rest)


def _split(options: Any, known: Any) -> tuple[sixnimmt.Rules, dict[str, Any]]:
    """The rules that `options` name, and the other options; `TypeError` with the nearest that is `known` for an unknown one."""
    allowed = list(known.__annotations__)
    for name in options:
        if name not in allowed:
            close = difflib.get_close_matches(name, allowed, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise TypeError(f"option {name!r} is unknown: {hint}there are {', '.join(allowed)}")
    rules = {field.name for field in dataclasses.fields(sixnimmt.Rules)}
    return (
        sixnimmt.Rules(**{name: value for name, value in options.items() if name in rules}),
        {name: value for name, value in options.items() if name not in rules},
    )
