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

Version history: v0, first release.
"""

from __future__ import annotations

from .envs.aec import AECGameEnv
from .envs.parallel import ParallelGameEnv
from .envs.table import IllegalAction
from .games import sixnimmt
from .games.sixnimmt.rules import Deck

__all__ = ["env", "parallel_env", "raw_env"]


def raw_env(
    num_players: int = 4,
    deck: Deck = "standard",
    professional: bool = False,
    rounds: int | None = 1,
    target: int | None = None,
    exceed_target: bool = False,
    *,
    illegal_action: IllegalAction = "raise",
    render_mode: str | None = None,
    **sizes: int | None,
) -> AECGameEnv:
    """The AEC environment of 6 nimmt!: seats act one after the other, simultaneous choices hidden until all are made.

    Args:
        num_players: 2 to 10.
        deck: "standard" | "tactical" | "logic".
        professional: cards may join either side of a row.
        rounds: rounds of the match, 1 by default; None for a match to `target`.
        target: the match ends with the round in which a total reaches it (`rounds=None, target=66`).
        exceed_target: ... exceeds it.
        illegal_action: "raise" | "replace" | "terminate", see `envs.aec.AECGameEnv`.
        render_mode: "ansi" | "human" | None.
        sizes: smaller games, for study: hand_size, num_rows, row_capacity, deck_size, see `games.sixnimmt.rules.Rules`.

    Raises:
        ValueError: an impossible variant; the message says what would be possible.
        TypeError: an unknown option.
    """
    rules = sixnimmt.Rules(num_players, deck, professional, rounds, target, exceed_target, **sizes)  # type: ignore[arg-type]
    return AECGameEnv(sixnimmt.GAME, rules, "sixnimmt_v0", illegal_action, render_mode)


env = raw_env  # the checks of PettingZoo's wrappers are made inside, so there is nothing to wrap


def parallel_env(
    num_players: int = 4,
    deck: Deck = "standard",
    professional: bool = False,
    rounds: int | None = 1,
    target: int | None = None,
    exceed_target: bool = False,
    *,
    illegal_action: IllegalAction = "raise",
    render_mode: str | None = None,
    **sizes: int | None,
) -> ParallelGameEnv:
    """The parallel environment of 6 nimmt!: all seats act in every step, and wait where they have nothing to decide.

    Takes the options of `raw_env` and plays the same games from the same seeds.
    """
    rules = sixnimmt.Rules(num_players, deck, professional, rounds, target, exceed_target, **sizes)  # type: ignore[arg-type]
    return ParallelGameEnv(sixnimmt.GAME, rules, "sixnimmt_v0", illegal_action, render_mode)
