"""The games for OpenSpiel (https://github.com/google-deepmind/open_spiel), for its solvers of small ones and its measures of play.

```python
import pyspiel

import sixnimmt_env.interop.open_spiel  # registers python_sixnimmt

game = pyspiel.load_game("python_sixnimmt(players=2,hand_size=2,num_rows=1,row_capacity=1,deck_size=6)")
turn_based = pyspiel.convert_to_turn_based(game)  # what most of the algorithms take
```

Importing this module registers every game of the package as `python_` and its name. Parameters are the options of its rules, with `players`
for `num_players` and 0 for None, and two more:

- `reward`: "relative", the default, is zero-sum for any number of players: the mean cost of all minus the own one. "heads" is minus the own
  cost.
- `deal`: cards dealt beforehand, hand by hand, such as "2 5": everybody knows then that seat 0 holds them. Without it all seats of a
  dealt game are alike, and the value of the game to each is 0.

The deal is a row of chance nodes, one a card, numbered by their place in the deck; a hand is dealt in ascending order, with the chances
that make all hands equally likely (`tree.Node.chances`). Where several seats decide it is a simultaneous node, where one does a node of
that player. Information states hold all that a seat has seen and done. Rewards are given when they fall due, and a match is one deal.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import games
from ..agents import Agent
from ..core.game import Game
from . import exact
from .tree import Node, Tree, plant

try:
    import pyspiel
    from open_spiel.python import policy
except ImportError as error:
    raise ImportError(f"{__name__} needs OpenSpiel ({error}): pip install open_spiel") from error

REWARDS: Final = ("relative", "heads")


def name_of(game: Game) -> str:
    """What OpenSpiel knows `game` by."""
    return f"python_{game.name}"


def register(game: Game) -> None:
    """Make `pyspiel.load_game` know `game`. Once more does no harm."""
    # OpenSpiel drops what it was given when the interpreter is gone already: a class survives that, a closure crashes.
    pyspiel.register_game(_game_type(game), type(f"{game.name.title()}SpielGame", (SpielGame,), {"game": game}))


class SpielGame(pyspiel.Game):
    """A variant of a game of this package; each game has its subclass.

    Args:
        params: the parameters, all optional.

    Raises:
        ValueError: an impossible variant, or one without bounds; the message says what would be possible.
    """

    game: Game

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        game = self.game
        given = {**_defaults(game), **(params or {})}
        if given["reward"] not in REWARDS:
            raise ValueError(f"reward={given['reward']!r} is unknown: choose one of {', '.join(map(repr, REWARDS))}")
        self.relative = given["reward"] == "relative"
        self.tree = plant(game, _rules(game, given), given["deal"])
        self.root = self.tree.root()
        super().__init__(_game_type(game, self.relative, self.tree), _game_info(self.tree, self.relative), dict(params or {}))

    def new_initial_state(self) -> SpielState:
        """A state at the beginning."""
        return SpielState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Cards that are dealt by chance."""
        return self.tree.cards_to_deal

    def make_py_observer(self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None) -> SpielObserver:
        """What writes down what a player knows, see `SpielObserver`."""
        return SpielObserver(self.tree, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)


class SpielState(pyspiel.State):
    """A state of a game; `node` holds all of it.

    OpenSpiel copies and pickles the attributes of a state; a node is never changed and is shared by the copies.
    """

    def __init__(self, game: SpielGame) -> None:
        super().__init__(game)
        self.node = game.root

    def current_player(self) -> int:
        """Who decides: a seat, or one of OpenSpiel's numbers for chance, several at once and the end."""
        node = self.node
        if node.dealing:
            player = pyspiel.PlayerId.CHANCE
        elif node.over:
            player = pyspiel.PlayerId.TERMINAL
        else:
            player = node.seats[0] if len(node.seats) == 1 else pyspiel.PlayerId.SIMULTANEOUS
        return int(player)

    def is_terminal(self) -> bool:
        """Whether the match is over."""
        return self.node.over

    def _legal_actions(self, player: int) -> list[int]:
        return self.node.legal(player) if player in self.node.seats else []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The cards that may come next, by their place in the deck, and how likely each is."""
        deck = self.node.tree.extent.deck
        return [(deck.index(card), chance) for card, chance in self.node.chances()]

    def _apply_action(self, action: int) -> None:
        if self.node.dealing:
            self.node = self.node.with_card(self.node.tree.extent.deck[action])
        else:
            self.node = self.node.after([action] * self.node.tree.players)

    def _apply_actions(self, actions: Sequence[int]) -> None:
        self.node = self.node.after(actions)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return f"deal {self.node.tree.extent.deck[action]}"
        return self.node.tree.game.action_name(action)

    def returns(self) -> list[float]:
        """What each player has gained so far."""
        return self._utilities(self.node.costs())

    def rewards(self) -> list[float]:
        """What each has gained by the last action."""
        return self._utilities(self.node.new_costs())

    def _utilities(self, costs: list[int]) -> list[float]:
        mean = sum(costs) / len(costs) if self.get_game().get_type().utility == pyspiel.GameType.Utility.ZERO_SUM else 0.0
        return [mean - cost for cost in costs]

    def __str__(self) -> str:
        dealt = f"dealt: {' '.join(map(str, self.node.cards))}"
        return dealt if self.node.dealing else f"{dealt}\n{self.node.tree.game.board(self.node.views(0, open_hands=True)[0])}"


class SpielObserver:
    """What a player knows, as a text and as numbers.

    Pieces of `tensor`, all within [0, 1], are in `dict`: "player", who looks; "observation", the vector that the environments of this
    package give. With perfect recall there are also "dealt", that vector just after the deal, and "actions", for each decision the
    actions of all, as (action + 1) / number of actions: they are open when all have decided. Texts are the board, and with perfect recall
    `tree.Node.recall`. Nothing is known before the deal is complete.

    Args:
        tree: of the game.
        kind: public and private information; private that of the player or of all.
        params: there are none.

    Raises:
        ValueError: another kind of observation, or parameters.
    """

    def __init__(self, tree: Tree, kind: Any, params: Mapping[str, Any] | None = None) -> None:
        if params:
            raise ValueError(f"observations of {name_of(tree.game)} take no parameters, not {dict(params)}")
        if not kind.public_info or kind.private_info == pyspiel.PrivateInfoType.NONE:
            raise ValueError(f"observations of {name_of(tree.game)} hold what is public, and what is private of one player or of all")
        self._open = kind.private_info == pyspiel.PrivateInfoType.ALL_PLAYERS
        self._recall = kind.perfect_recall
        size, players = tree.game.layout.size, tree.players
        shapes: dict[str, tuple[int, ...]] = {"player": (players,), "observation": (size,)}
        if self._recall:
            shapes |= {"dealt": (size,), "actions": (tree.extent.decisions, players)}
        self.tensor = np.zeros(sum(int(np.prod(shape)) for shape in shapes.values()), dtype=np.float32)
        self.dict: dict[str, NDArray[np.float32]] = {}
        start = 0
        for name, shape in shapes.items():
            end = start + int(np.prod(shape))
            self.dict[name] = self.tensor[start:end].reshape(shape)  # views: what is written there is in the tensor
            start = end

    def set_from(self, state: SpielState, player: int) -> None:
        """Write what `player` knows in `state` to `tensor`."""
        node = state.node
        self.tensor[:] = 0.0
        self.dict["player"][player] = 1.0
        if node.dealing:
            return
        self._encode(node, player, -1, "observation")
        if self._recall:
            self._encode(node, player, 0, "dealt")
            if node.played:
                self.dict["actions"][: len(node.played)] = (np.array(node.played) + 1) / node.tree.game.num_actions

    def _encode(self, node: Node, player: int, moment: int, piece: str) -> None:
        node.tree.game.encode(node.views(player, self._open, moment), self.dict[piece][None])

    def string_from(self, state: SpielState, player: int) -> str:
        """What `player` knows in `state`, in words; with perfect recall, different words for whatever it can tell apart."""
        node = state.node
        if self._recall:
            return node.recall(player, self._open)
        return "" if node.dealing else node.tree.game.board(node.views(player, self._open)[0])


class AgentPolicy(policy.Policy):
    """An agent of this package as a policy of OpenSpiel's, for the simultaneous game and its turn-based form.

    Args:
        spiel: the game.
        agent: who plays, in every seat.
        throws: an agent with dice is asked so often, each time with other dice (`agent.reset`), and its answers are counted. One is enough
            for an agent without.
    """

    def __init__(self, spiel: Any, agent: Agent, throws: int = 1) -> None:
        super().__init__(spiel, list(range(spiel.num_players())))
        self._agent, self._throws = agent, throws
        self._known: dict[bytes, dict[int, float]] = {}

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """How likely the player, by default the one that decides, takes each legal action."""
        seat = state.current_player() if player_id is None else player_id
        node = node_of(state)
        view = node.views(seat)[0]
        key = view.tobytes()
        if key not in self._known:
            counts = dict.fromkeys(node.legal(seat), 0) | Counter(self._answers(view))
            self._known[key] = {action: count / self._throws for action, count in counts.items()}
        return self._known[key]

    def _answers(self, view: np.void) -> list[int]:
        answers = []
        for seed in range(self._throws):
            self._agent.reset(seed)
            answers.append(int(self._agent.act([view])[0]))
        return answers


def tabular(policies: Sequence[Any]) -> exact.Policy:
    """What solvers of the turn-based form give, a `TabularPolicy` a seat, for play on the engine, see `exact`."""

    def chances(seat: int, recall: str, view: np.void) -> dict[int, float]:
        # The turn-based form says first whose turn it is, see TurnBasedSimultaneousState::InformationStateString.
        row = policies[seat].policy_for_key(f"Current player: {seat}\n{recall}")
        return {int(action): float(row[action]) for action in np.flatnonzero(row > 0.0)}

    return chances


def node_of(state: Any) -> Node:
    """The node of a state of a game of this package or of its turn-based form."""
    if isinstance(state, pyspiel.TurnBasedSimultaneousState):
        state = state.simultaneous_game_state()
    node: Node = state.node
    return node


def _defaults(game: Game) -> dict[str, Any]:
    """The parameters and their defaults. OpenSpiel's have a type and know no None: 0 stands for it."""
    fields = dataclasses.fields(game.rules)  # type: ignore[arg-type]
    options = {field.name: 0 if field.default is None else field.default for field in fields}
    return {"players": options.pop("num_players"), **options, "reward": REWARDS[0], "deal": ""}


def _rules(game: Game, params: Mapping[str, Any]) -> Any:
    fields = dataclasses.fields(game.rules)  # type: ignore[arg-type]
    given = {**params, "num_players": params["players"]}
    optional = {field.name for field in fields if "None" in str(field.type)}
    return game.rules(**{f.name: None if f.name in optional and given[f.name] == 0 else given[f.name] for f in fields})


def _game_type(game: Game, relative: bool = True, tree: Tree | None = None) -> Any:
    """The type of the game as it is registered, or of one of its variants."""
    chance = pyspiel.GameType.ChanceMode
    return pyspiel.GameType(
        short_name=name_of(game),
        long_name=f"{game.name} of sixnimmt_env",
        dynamics=pyspiel.GameType.Dynamics.SIMULTANEOUS,
        chance_mode=chance.DETERMINISTIC if tree is not None and not tree.cards_to_deal else chance.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM if relative else pyspiel.GameType.Utility.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.REWARDS,
        max_num_players=game.max_seats,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_defaults(game),
    )


def _game_info(tree: Tree, relative: bool) -> Any:
    """The bounds. With n players a relative utility is (sum of the others' costs - (n - 1) times the own cost) / n."""
    extent, n = tree.extent, tree.players
    lowest, highest = float(-extent.most), float(-extent.least)
    if relative:
        lowest, highest = (n - 1) * (extent.least - extent.most) / n, (extent.together - n * extent.least) / n
    return pyspiel.GameInfo(
        num_distinct_actions=tree.game.wait,  # the last action, which nobody needs here
        max_chance_outcomes=len(extent.deck) if tree.cards_to_deal else 0,
        num_players=n,
        min_utility=lowest,
        max_utility=highest,
        utility_sum=0.0 if relative else None,
        max_game_length=extent.decisions,
    )


for _name in games.names():
    register(games.get(_name))
