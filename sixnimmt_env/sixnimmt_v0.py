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
end); front of row r is `108 + r` (professional only); 112 is wait, never legal here.

Version history: v0, first release.
"""

from __future__ import annotations

from .envs.aec import AECGameEnv, IllegalAction
from .games import sixnimmt
from .games.sixnimmt.rules import Deck

__all__ = ["env", "raw_env"]


def raw_env(
    num_players: int = 4,
    deck: Deck = "standard",
    professional: bool = False,
    rounds: int | None = 1,
    target: int | None = None,
    exceed_target: bool = False,
    *,
    hand_size: int = 10,
    num_rows: int = 4,
    row_capacity: int = 5,
    deck_size: int | None = None,
    illegal_action: IllegalAction = "raise",
    render_mode: str | None = None,
) -> AECGameEnv:
    """The AEC environment of 6 nimmt!.

    Args:
        num_players: 2 to 10.
        deck: "standard" | "tactical" | "logic".
        professional: cards may join either side of a row.
        rounds: rounds of the match, 1 by default; None for a match to `target`.
        target: the match ends with the round in which a total reaches it (`rounds=None, target=66`).
        exceed_target: ... exceeds it.
        hand_size, num_rows, row_capacity, deck_size: smaller games, for study.
        illegal_action: "raise" | "replace" | "terminate", see `envs.aec.AECGameEnv`.
        render_mode: "ansi" | "human" | None.

    Raises:
        ValueError: an impossible variant; the message says what would be possible.
    """
    rules = sixnimmt.Rules(num_players, deck, professional, rounds, target, exceed_target, hand_size, num_rows, row_capacity, deck_size)
    return AECGameEnv(sixnimmt.GAME, rules, "sixnimmt_v0", illegal_action, render_mode)


env = raw_env  # the checks of PettingZoo's wrappers are made inside, so there is nothing to wrap
