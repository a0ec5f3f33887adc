"""6 nimmt! for PettingZoo and Gymnasium: simultaneous choice and hidden hands, 2 to 10 players. `sixnimmt rules` says the rules.

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

| what | here |
|---|---|
| agents | `player_0` ... `player_9`, as many as play; 4 by default |
| action space | `Discrete(113)` |
| observation space | `Dict(observation=Box(0, 1, (1367,), float32), action_mask=Box(0, 1, (113,), int8))` |
| state space | `Box(0, 1, (1367,), float32)`: all hands, for critics in training, never for a seat that decides |
| the same for | 2 to 10 players, every variant and every form, so that one policy fits all |
| rewards | minus the bull heads taken, when they are taken |
| parallel form | yes |

Actions
-------
| action | called | meaning |
|---|---|---|
| 0 to 103 | card 1 to card 104 | pick it from the hand, or take it in the draft of the logic deck |
| 104 to 107 | row 0 to row 3 | take it, or lay the card at its end |
| 108 to 111 | front of row 0 to front of row 3 | lay the card at its front (professional only) |
| 112 | wait | nothing to decide (parallel and vector forms only) |

Observation
-----------
`observation` is one vector of named numbers, from the seat's own point of view and of what it may know. Lines of a group stand one
after the other, as many as its heading says. `LAYOUT.explain(observation)` of the game's module says in words what one holds,
`LAYOUT.decode` gives natural numbers. This is layout version 1.

| place | group | column | natural range | stored as | meaning |
|---|---|---|---|---|---|
| 0..24 | **context** | 25 a line | | | 1 x the game as a whole |
| +0 | | `phase_draft` | 0..1 | x | phase: draft |
| +1 | | `phase_pick` | 0..1 | x | phase: pick |
| +2 | | `phase_row` | 0..1 | x | phase: row |
| +3 | | `phase_side` | 0..1 | x | phase: side |
| +4 | | `phase_over` | 0..1 | x | phase: over |
| +5 | | `deciding` | 0..1 | x | the seat has a decision to make now |
| +6 | | `standard` | 0..1 | x | deck standard |
| +7 | | `tactical` | 0..1 | x | deck tactical |
| +8 | | `logic` | 0..1 | x | deck logic |
| +9 | | `professional` | 0..1 | x | cards join either side of a row |
| +10 | | `num_players` | 0..10 | x / 10 | players |
| +11 | | `hand_size` | 0..10 | x / 10 | cards dealt to each |
| +12 | | `num_rows` | 0..4 | x / 4 | rows |
| +13 | | `row_capacity` | 0..5 | x / 5 | cards a row can hold |
| +14 | | `highest_card` | 0..104 | x / 104 | the deck is 1..this |
| +15 | | `turn` | 0..10 | x / 10 | complete turns of the round |
| +16 | | `cards_left` | 0..10 | x / 10 | cards in the own hand |
| +17 | | `unseen` | 0..104 | x / 104 | cards whose place the seat does not know |
| +18 | | `round_index` | 0.. | x / (x + 10) | complete rounds |
| +19 | | `rounds` | 0.. | x / (x + 10) | rounds of the match, 0 when it goes to a target |
| +20 | | `target` | 0.. | x / (x + 66) | target of the match, 0 when the rounds are fixed |
| +21 | | `exceed_target` | 0..1 | x | the target must be exceeded |
| +22 | | `unseen_below` | 0..104 | x / 104 | unseen cards below every row's last card |
| +23 | | `own_below` | 0..10 | x / 10 | own cards below every row's last card |
| +24 | | `cheapest_heads` | 0..27 | x / 27 | bull heads of the cheapest row |
| 25..94 | **seats** | 7 a line | | | 10 x seats, clockwise from the own one |
| +0 | | `present` | 0..1 | x | somebody sits here |
| +1 | | `penalty` | 0..171 | x / 171 | bull heads of this round |
| +2 | | `total` | 0.. | x / (x + 66) | bull heads of the match |
| +3 | | `revealed` | 0..104 | x / 104 | card of this turn, while it lies revealed and the turn is being placed |
| +4 | | `to_place` | 0..1 | x | that card is still to be placed |
| +5 | | `last_card` | 0..104 | x / 104 | card of the last complete turn |
| +6 | | `last_took` | 0..27 | x / 27 | bull heads taken in the turn last revealed |
| 95..166 | **rows** | 18 a line | | | 4 x rows as they lie on the table, in the order of the row actions |
| +0 | | `card_0` | 0..104 | x / 104 | card in place 0, 0 none |
| +1 | | `card_1` | 0..104 | x / 104 | card in place 1, 0 none |
| +2 | | `card_2` | 0..104 | x / 104 | card in place 2, 0 none |
| +3 | | `card_3` | 0..104 | x / 104 | card in place 3, 0 none |
| +4 | | `card_4` | 0..104 | x / 104 | card in place 4, 0 none |
| +5 | | `room` | 0..5 | x / 5 | cards that still fit |
| +6 | | `heads` | 0..27 | x / 27 | bull heads |
| +7 | | `last` | 0..104 | x / 104 | last card |
| +8 | | `full` | 0..1 | x | the next card takes the row |
| +9 | | `unseen_above` | 0..104 | x / 104 | unseen cards between its last card and the next row's |
| +10 | | `own_above` | 0..10 | x / 10 | own cards between its last card and the next row's |
| +11 | | `rank` | 0..4 | x / 4 | place by last card, 1 the lowest |
| +12 | | `cheaper_rows` | 0..4 | x / 4 | rows with fewer bull heads |
| +13 | | `can_end` | 0..1 | x | may be chosen now: taken, or laid at its end |
| +14 | | `can_front` | 0..1 | x | may be chosen now: laid at its front |
| +15 | | `cost` | 0..27 | x / 27 | bull heads the choice would cost at once |
| +16 | | `followers` | 0..10 | x / 10 | revealed cards, still to be placed, that lie above the own card and below the next row's last |
| +17 | | `unseen_behind` | 0..104 | x / 104 | unseen cards between the own revealed card and the next row's last, if the row is taken |
| 167..194 | **ladder** | 7 a line | | | 4 x rows by ascending last card |
| +0 | | `last` | 0..104 | x / 104 | last card |
| +1 | | `room` | 0..5 | x / 5 | cards that still fit |
| +2 | | `heads` | 0..27 | x / 27 | bull heads |
| +3 | | `full` | 0..1 | x | the next card takes the row |
| +4 | | `unseen_above` | 0..104 | x / 104 | unseen cards between its last card and the next row's |
| +5 | | `own_above` | 0..10 | x / 10 | own cards between its last card and the next row's |
| +6 | | `first` | 0..104 | x / 104 | first card |
| 195..534 | **hand** | 34 a line | | | 10 x own cards, ascending |
| +0 | | `card` | 0..104 | x / 104 | the card, 0 for an empty slot |
| +1 | | `present` | 0..1 | x | the slot holds a card |
| +2 | | `heads` | 0..7 | x / 7 | its bull heads |
| +3 | | `lower_own` | 0..10 | x / 10 | own cards below it |
| +4 | | `higher_own` | 0..10 | x / 10 | own cards above it |
| +5 | | `unseen_lower` | 0..104 | x / 104 | unseen cards below it |
| +6 | | `unseen_higher` | 0..104 | x / 104 | unseen cards above it |
| +7 | | `own_gap_down` | 0..104 | x / 104 | distance to the next own card below, or to 0 |
| +8 | | `own_gap_up` | 0..104 | x / 104 | distance to the next own card above, or past the deck |
| +9 | | `homeless` | 0..1 | x | no row would have it: its owner takes one |
| +10 | | `at_front` | 0..1 | x | it would join a row at the front (professional) |
| +11 | | `tie` | 0..1 | x | its owner would choose the side (professional) |
| +12 | | `row_rank` | 0..4 | x / 4 | the row it would join now, by last card, 1 the lowest; 0 none |
| +13 | | `gap` | 0..104 | x / 104 | distance to the card it would lie beside |
| +14 | | `unseen_in_gap` | 0..104 | x / 104 | unseen cards in that gap |
| +15 | | `own_in_gap` | 0..10 | x / 10 | own cards in that gap |
| +16 | | `room` | 0..5 | x / 5 | cards that still fit into that row |
| +17 | | `row_heads` | 0..27 | x / 27 | bull heads of that row |
| +18 | | `row_full` | 0..1 | x | that row is full: it would take it now |
| +19 | | `chance_first` | 0..1 | x | chance that nobody plays into the gap |
| +20 | | `chance_fewer` | 0..1 | x | chance that fewer than the room play into the gap |
| +21 | | `chance_sixth` | 0..1 | x | chance that exactly the room is filled before it: it takes the row |
| +22 | | `chance_more` | 0..1 | x | chance that somebody else takes the row first |
| +23 | | `arrivals` | 0..10 | x / 10 | expected cards into the gap |
| +24 | | `chance_lowest` | 0..1 | x | chance that nobody plays a lower card |
| +25 | | `expected_cost` | 0..27 | x / 27 | expected bull heads of playing it now |
| +26 | | `below_exists` | 0..1 | x | there is a next row below the one it would join |
| +27 | | `below_room` | 0..5 | x / 5 | room of the next row below |
| +28 | | `below_heads` | 0..27 | x / 27 | bull heads of the next row below |
| +29 | | `above_exists` | 0..1 | x | there is a row whose last card is above it |
| +30 | | `above_gap` | 0..104 | x / 104 | distance to that row's last card |
| +31 | | `above_room` | 0..5 | x / 5 | its room |
| +32 | | `above_heads` | 0..27 | x / 27 | its bull heads |
| +33 | | `unseen_to_above` | 0..104 | x / 104 | unseen cards between it and that row's last card |
| 535..1366 | **cards** | 8 a line | | | 104 x cards 1..104 |
| +0 | | `own` | 0..1 | x | in the own hand |
| +1 | | `seen` | 0..1 | x | has lain open this round |
| +2 | | `unseen` | 0..1 | x | its place is not known to the seat |
| +3 | | `can_draft` | 0..1 | x | lies face up to be drafted |
| +4 | | `player` | 0..10 | x / 10 | 1 + the seat that played it this round, clockwise from the own one; 0 nobody |
| +5 | | `turn` | 0..10 | x / 10 | 1 + the turn in which it was played; 0 not yet |
| +6 | | `holder` | 0..10 | x / 10 | 1 + the seat in whose open hand it is (logic), clockwise from the own one; 0 nobody |
| +7 | | `row` | 0..4 | x / 4 | 1 + the row it lies in; 0 none |

Masks
-----
`observation["action_mask"]` and `infos[agent]["action_mask"]` hold 1 for each legal action, as int8; the single and the vector form
also answer `action_masks()`, as bool (through Gymnasium's wrappers: `env.get_wrapper_attr("action_masks")()`). Draw actions with
it: `env.action_space(agent).sample(mask)`. In the AEC form the mask of an agent that is not asked is empty. In the parallel form,
where every agent acts in every step, one that has nothing to decide may only wait (112). An illegal action raises
`IllegalActionError` and changes nothing, unless `illegal_action` says otherwise.

Rewards and the end
-------------------
Rewards are minus the bull heads taken, in the step in which they are taken; those of a match add up to minus its total, and the
lowest total wins. All agents are terminated together when the match is over. Nothing is truncated, unless `max_cycles` (PettingZoo)
or `max_episode_steps` (`gymnasium.make`) asks for it.

Forms
-----
| made by | kind | what it is |
|---|---|---|
| `sixnimmt_v0.env(...)` | PettingZoo AEC, also `pettingzoo.make("aec", "sixnimmt_env/sixnimmt-v0")` | One game, played seat by seat. |
| `sixnimmt_v0.parallel_env(...)` | PettingZoo parallel, also `pettingzoo.make("parallel", "sixnimmt_env/sixnimmt-v0")` | One game, played by all seats together. |
| `gymnasium.make("sixnimmt_env/SixNimmt-v0", ...)` | Gymnasium, also `sixnimmt_v0.gym_env(...)` | One seat of one game against agents; a step goes from one of its decisions to the next. |
| `gymnasium.make_vec("sixnimmt_env/SixNimmt-v0", num_envs=64, ...)` | Gymnasium vector, also `sixnimmt_v0.gym_vector_env(...)` | `num_envs` games side by side, each as `SeatEnv` plays it: the same seeds give the same games, whatever `num_envs`. |

Equal seeds deal equal cards in all of them.

Options
-------
| option | meaning |
|---|---|
| `num_players=4` | 2 to 10. |
| `deck='standard'` | "standard" (cards 1..104), "tactical" (only as many as are dealt) or "logic" (tactical, and the hands are drafted face up). |
| `professional=False` | cards may be added at either side of a row. |
| `rounds=1` | number of rounds in a match; None for a match to `target`. |
| `target=None` | the match ends when, after a complete round, a total has reached this many bull heads, or after 10 000 rounds; None when `rounds` is set. |
| `exceed_target=False` | "reached" means more than `target` instead of `target` or more. |
| `hand_size=10` | cards dealt to each player, 1 to 10; also the turns of a round. |
| `num_rows=4` | rows on the table, 1 to 4. |
| `row_capacity=5` | cards a row can hold, 1 to 5; the next one takes them. |
| `deck_size=None` | the deck is 1..deck_size; None for the deck's own size (104, or exactly the cards dealt in tactical and logic). |
| `illegal_action='raise'` | PettingZoo: "raise" `IllegalActionError`; "replace" it by the lowest legal action; "terminate" the match for all, offenders pay `rules.forfeit`, the others nothing. |
| `render_mode=None` | PettingZoo: "ansi" returns the board as text, "rgb_array" as a picture, (height, width, 3) uint8 of constant size, drawn without a display; "human" follows play on the terminal. All as a seat sees it that is to act. |
| `max_cycles=None` | PettingZoo: truncate the match for all after this many cycles; None: never. In a cycle everybody decides once who has to decide now: all of them for the cards, one for a row. |
| `opponents=('random',)` | Gymnasium: specs ("greedy", "policy:PATH") or agents: one for all other seats, or one each, clockwise from the own seat. |
| `seat='random'` | Gymnasium: the own seat, "random" (drawn for each match) or "rotate". |
| `illegal_action='raise'` | Gymnasium: "raise" `IllegalActionError`; "replace" it by the lowest legal action; "terminate" the match at the price of `rules.forfeit`. With the last two `info["illegal_action"]` is True after such a step. |
| `render_mode=None` | Gymnasium: "ansi" returns the board as text, "rgb_array" as a picture, (height, width, 3) uint8 of constant size; "human" follows play on the terminal. All as the own seat sees it. |
| `num_envs=1` | Gymnasium vector: games. |
| `illegal_action='raise'` | Gymnasium vector: "raise", "replace", "terminate", as for `SeatEnv`, for each game by itself; "raise" changes no game. |
| `autoreset_mode='NextStep'` | Gymnasium vector: "NextStep" (default, as in Gymnasium), "SameStep" or "Disabled", or the enum's member. |
| `render_mode=None` | Gymnasium vector: "rgb_array" or "ansi": `render()` returns a tuple with the picture or the text of each game, as `SeatEnv` has it. |

Version history
---------------
- v0: first release
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
GAME = sixnimmt.GAME


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
    return AECGameEnv(GAME, rules, _NAME, illegal_action, render_mode, max_cycles)


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
    return ParallelGameEnv(GAME, rules, _NAME, illegal_action, render_mode, max_cycles)


def gym_env(**options: Unpack[SeatOptions]) -> SeatEnv:
    """The Gymnasium environment: one seat against agents. Options: as `raw_env`, by name, and opponents=["random"], seat="random"."""
    rules, rest = _split(options, SeatOptions)
    return SeatEnv(GAME, rules, **rest)


def gym_vector_env(**options: Unpack[VectorOptions]) -> SeatVectorEnv:
    """The Gymnasium vector environment over the batched engine. Options: as `gym_env`, and num_envs=1, autoreset_mode="NextStep".

    `render_mode` is "rgb_array" | "ansi" | None here.
    """
    rules, rest = _split(options, VectorOptions)
    return SeatVectorEnv(GAME, rules, **rest)


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
            # Python's own words first: TorchRL looks for them to find out which options an environment takes.
            raise TypeError(f"unexpected keyword argument {name!r}: {hint}there are {', '.join(allowed)}")
