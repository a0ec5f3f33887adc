"""Games in which any number of seats are the learner's: self-play, beside agents and frozen copies of the learner.

At every table one seat is the learner's, as in `SeatGames`; each other seat draws who sits there, the learner himself among others. A step
takes each game to the next moment in which a seat of the learner has a choice. Then all his seats that have one act; the others wait.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sixnimmt_env import games
from sixnimmt_env.agents import Agent, decide
from sixnimmt_env.core.game import Game, Rules, Views
from sixnimmt_env.core.kernel import kernel
from sixnimmt_env.core.records import as_bytes
from sixnimmt_env.core.saved import fitting, whole, within
from sixnimmt_env.core.seeding import below, mix, uniform
from sixnimmt_env.envs.seats import SeatGames

from .config import POOL, SELF, Config
from .meetings import meetings
from .network import Network, Shape, arrays, of_arrays
from .policy import LearnedAgent, Policy

_MEMORY: Final = 0.95  # what is remembered of matches from one iteration to the next
_FEW: Final = 20.0  # matches that tell nothing yet
_CALM: Final = 0.2  # share of the matchmaking that is left to chance
_LEAGUE: Final = np.uint64(0x001E_A60E)  # keeps the draw of seats apart from that of the cards
LEARNER: Final = -1  # in a seating: the learner's seat, or nobody's


@dataclass(frozen=True)
class Group:
    """Who may sit in a seat that is not fixed.

    Args:
        weight: of the group among the groups.
        agents: numbers of agents, LEARNER for the learner himself.
        shares: their weights within the group; None for equal ones.
    """

    weight: float
    agents: tuple[int, ...]
    shares: tuple[float, ...] | None = None


class LeagueGames(SeatGames):
    """`count` games side by side with one place of the learner's for every seat; `slot` k is the place k of all games, game by game.

    Args:
        game: what is played.
        variants: rules and their weights; the games are divided among them.
        agents: who may be seated; more may be appended later.
        groups: who is drawn, see `Group`.
        count: games.
        by_table: draw one group for all other seats of a table, instead of one for each.

    Attributes:
        views, masks, costs, over, outside: as those of `SeatGames`, of every slot. Who has nothing to decide may only wait.
        playing: (slots,) bool, whose seat is the learner's in this match.
        slot_games: (slots,) the games that the slots belong to.

    Raises:
        ValueError: see `SeatGames`.
    """

    _SAVED = (*SeatGames._SAVED, "_main", "_due", "_actions", "_slot_at")

    def __init__(
        self,
        game: Game,
        variants: Sequence[tuple[Rules, float]],
        agents: Sequence[Agent],
        groups: Sequence[Group],
        count: int,
        by_table: bool = False,
    ) -> None:
        super().__init__(game, variants[0][0], agents, [1.0] * len(agents), count, "random", skip_forced=True)
        self.agents: tuple[Agent, ...] | list[Agent] = list(agents)
        self.by_table = by_table
        self.groups = tuple(groups)
        of_game = shared_out([weight for _, weight in variants], count)
        for k, (rules, _) in enumerate(variants):
            # Byte by byte: NumPy would leave in the padding what is in memory by chance, and equal runs would not have equal states.
            as_bytes(self.states)[of_game == k] = as_bytes(game.new_states(rules, int((of_game == k).sum())))
        self.players = np.array([rules.num_players for rules, _ in variants])[of_game]
        self._lay_out(np.repeat(np.arange(count), self.players))
        self._places = np.arange(len(self.slot_games)) - self._first[self.slot_games]
        self._main = np.zeros(count, dtype=np.int64)  # the seat that is always the learner's
        self._due = np.zeros(len(self.slot_games), dtype=np.bool_)
        self._actions = np.zeros((count, game.max_seats), dtype=np.int64)
        self._slot_at = np.full((count, game.max_seats), -1, dtype=np.int64)  # of each seat
        self.met = np.zeros((0, 2))  # see `meetings`, of each agent

    @property
    def due(self) -> NDArray[np.bool_]:
        """(slots,) bool, where the learner has to decide."""
        return self._due

    def step(self, choices: NDArray[np.int64], games: NDArray[np.int64] | None = None) -> None:
        """Carry out the learner's legal `choices`, (slots,), those of slots that are not due ignored, and play on to his next decisions."""
        if games is not None:
            raise ValueError("all games of a league go on together")
        slots = np.flatnonzero(self._due)
        self._actions[self.slot_games[slots], self.outside[slots]] = choices[slots]
        going = np.zeros(len(self.states), dtype=np.bool_)
        going[self.slot_games[slots]] = True
        moving = np.flatnonzero(going)
        self._move_all(moving)
        self._advance(moving)

    def restart(self, games: NDArray[np.int64]) -> None:
        sat, paid = self.company(games)
        self.met = np.concatenate([self.met, np.zeros((len(self.agents) - len(self.met), 2))])
        self.met += meetings(sat[:, :-1], paid)
        super().restart(games)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "met": self.met.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        within(self._main, "main", 0, self.players)
        within(self._actions, "actions", 0, self.game.num_actions)
        within(self._slot_at, "slot_at", -1, len(self.slot_games))
        met = state["met"]
        self.met = fitting(met, "met", np.float64, (min(len(met), len(self.agents)), 2)).copy()

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _open(self, games: NDArray[np.int64]) -> None:
        self._advance(games)

    def _seat_everybody(self, games: NDArray[np.int64]) -> None:
        weights = np.array([group.weight for group in self.groups]).cumsum()
        members = np.concatenate([group.agents for group in self.groups]).astype(np.int64)
        shares = np.concatenate([np.cumsum(_shares(group)) for group in self.groups])
        starts = np.concatenate([[0], np.cumsum([len(group.agents) for group in self.groups])]).astype(np.int64)
        outside, chairs = self._main[games], self._chairs[games]
        seeds, numbers = self.states["seed"][games], self.states["game"][games]
        drawn = weights / weights[-1], members, shares, starts
        draw_tables(seeds, numbers, self.players[games], self.by_table, *drawn, outside, chairs)
        self._main[games], self._chairs[games] = outside, chairs
        slots = self._slots_of(games)
        of = self.slot_games[slots]
        seats = (self._main[of] + self._places[slots]) % self.players[of]
        self.outside[slots] = seats
        self.playing[slots] = self._chairs[of, seats] == LEARNER
        self._slot_at[of, seats] = slots

    def _slots_of(self, games: NDArray[np.int64]) -> NDArray[np.int64]:
        chosen = np.zeros(len(self.states), dtype=np.bool_)
        chosen[games] = True
        return np.flatnonzero(chosen[self.slot_games])

    def _advance(self, games: NDArray[np.int64]) -> None:
        """Play `games` on until the learner has a choice in each, or it is over."""
        everything = games
        while len(games):
            bits = np.empty(len(games), dtype=np.uint16)
            self.game.to_act(self.states, games, bits)
            deciding = (bits[:, None] >> np.arange(self.game.max_seats, dtype=np.uint16)) & 1 == 1
            rows, seats = np.nonzero(deciding & (self._chairs[games] == LEARNER))
            slots = self._slot_at[games[rows], seats]
            masks = np.empty((len(slots), self.game.num_actions), dtype=np.int8)
            self.game.legal(self._show(slots), masks)
            choice = masks.sum(axis=1, dtype=np.int16) > 1
            stops = np.zeros(len(games), dtype=np.bool_)
            stops[rows[choice]] = True
            self._actions[games[rows[~choice]], seats[~choice]] = masks[~choice].argmax(axis=1)
            self.forced += int((~choice).sum())
            over = bits == 0
            self._mark(games[stops | over], over[stops | over], slots[choice], masks[choice])
            games = games[~over & ~stops]
            if len(games):
                self._move_all(games)
        slots = self._slots_of(everything)
        self._show(slots[self.playing[slots] & ~self._due[slots]])  # who waits sees what happens
        self.costs[slots] = np.where(self.playing[slots], self.game.costs(self.states)[self.slot_games[slots], self.outside[slots]], 0)

    def _mark(self, games: NDArray[np.int64], over: NDArray[np.bool_], slots: NDArray[np.int64], masks: NDArray[np.int8]) -> None:
        """`games` have stopped: note whose turn it is."""
        of = self._slots_of(games)
        self._due[of] = False
        self.masks[of] = 0
        self.masks[of, self.game.wait] = 1
        finished = np.zeros(len(self.states), dtype=np.bool_)
        finished[games] = over
        self.over[of] = finished[self.slot_games[of]]
        self._due[slots] = True
        self.masks[slots] = masks

    def _show(self, slots: NDArray[np.int64]) -> Views:
        """Note, and return, what `slots` know."""
        views = np.zeros(len(slots), dtype=self.game.view_dtype)
        self.game.reveal(self.states, self.slot_games[slots], self.outside[slots], views)
        as_bytes(self.views)[slots] = as_bytes(views)
        return views

    def _move_all(self, games: NDArray[np.int64]) -> None:
        """One step of `games`: the learner's actions are noted, agents decide for their seats."""
        actions = self._actions[games]
        decide(self.game, self.states, games, self._chairs, self.agents, actions)
        illegal = np.zeros(len(games), dtype=np.uint16)
        self.game.step(self.states, games, actions, illegal)
        if illegal.any():
            place = int(np.flatnonzero(illegal)[0])
            seat = int(illegal[place]).bit_length() - 1
            self._refuse(int(games[place]), seat, int(actions[place, seat]))


def shared_out(weights: Sequence[float], count: int) -> NDArray[np.int64]:
    """(count,) the variant that each of `count` games is played by, so that each has its share, the first ones first."""
    shares = np.array(weights, dtype=np.float64).cumsum()
    return np.searchsorted(shares / shares[-1], (np.arange(count) + 0.5) / count)


class League:
    """Who sits with the learner as the training goes on: the mixture of opponents, and the pool of frozen copies of the learner.

    Args:
        config: the experiment.
        agents: the opponents that are named in it, by their names there, and the policies of the pool.
        count: games.
        shape: of the learner's network.

    Attributes:
        games: what is played.
        copies: (decisions, copy) of every copy in the pool, by its number among the agents.
    """

    def __init__(self, config: Config, agents: Mapping[str, Agent], count: int, shape: Shape = Shape()) -> None:  # noqa: B008 - frozen
        self.config, self._shape = config, shape
        self._fixed = [spec for spec in config.opponents if spec not in (SELF, POOL)]
        self._guests = list(config.pool.policies)
        seated = [agents[spec] for spec in (*self._fixed, *self._guests)]
        self.copies: dict[int, tuple[int, LearnedAgent]] = {}
        self._next_copy = config.pool.every
        rules = config.all_rules()
        game = games.get(config.game)
        self.games = LeagueGames(game, rules, seated, self._groups(0.0, []), count, config.draw == "table")

    def update(self, progress: float, decisions: int, network: Network) -> None:
        """Bring it up to date between two iterations: a copy of `network` when one is due, the mixture, and who of the pool is in play."""
        if POOL in self.config.opponents and decisions >= self._next_copy:
            self._next_copy = decisions + self.config.pool.every
            self._take_copy(decisions, network)
        rng = np.random.default_rng([self.config.seed, decisions])
        self.games.groups = tuple(self._groups(progress, self._in_play(rng)))
        self.games.met *= _MEMORY

    def state(self) -> dict[str, Any]:
        """The copies and when the next one is due; the games, which the environment looks after, are not in it."""
        copies = {
            str(number): {"decisions": decisions, "network": arrays(agent.policy.network)}
            for number, (decisions, agent) in self.copies.items()
        }
        return {"next_copy": self._next_copy, "copies": copies}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state` of a league of the same configuration; to be called before its games'.

        Raises:
            KeyError, ValueError: it is that of another league.
        """
        self._next_copy = whole(state["next_copy"], "next_copy")
        first = len(self._fixed) + len(self._guests)
        found: list[Agent] = []
        self.copies = {}
        if len(state["copies"]) > self.config.pool.size:
            raise ValueError("'copies' are more than the pool holds")
        for number in range(first, first + len(state["copies"])):
            saved = state["copies"][str(number)]
            decisions = whole(saved["decisions"], "decisions")
            self.copies[number] = decisions, self._frozen(decisions, of_arrays(self._shape, saved["network"]))
            found.append(self.copies[number][1])
        self.games.agents = [*self.games.agents[:first], *found]

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _groups(self, progress: float, in_play: Sequence[int]) -> list[Group]:
        weights = self.config.mixture_at(progress)
        found = [Group(weights[spec], (number,)) for number, spec in enumerate(self._fixed) if weights[spec] > 0]
        if weights.get(SELF, 0.0) > 0:
            found.append(Group(weights[SELF], (LEARNER,)))
        if weights.get(POOL, 0.0) > 0:
            # As long as there is no copy yet, the learner himself is the youngest one.
            found.append(Group(weights[POOL], tuple(in_play) or (LEARNER,)))
        return found

    def _members(self) -> list[int]:
        """Numbers of the pool's agents, the oldest copy first."""
        first = len(self._fixed)
        guests = range(first, first + len(self._guests))
        return [*guests, *sorted(self.copies, key=lambda number: self.copies[number][0])]

    def _in_play(self, rng: np.random.Generator) -> list[int]:
        members = self._members()
        count = min(self.config.pool.active, len(members))
        if not count:
            return []
        chances = self._chances(members)
        drawn = rng.choice(len(members), count, replace=False, p=chances)
        return [members[place] for place in sorted(drawn.tolist())]

    def _chances(self, members: Sequence[int]) -> NDArray[np.float64]:
        how = self.config.pool.matchmaking
        scores = np.zeros(len(members))
        if how == "recent":
            scores = np.linspace(0.0, 2.0, len(members))
        elif how == "prioritised":
            met = np.zeros((len(self.games.agents), 2))
            met[: len(self.games.met)] = self.games.met
            known = met[members, 0] > _FEW
            paid = met[members, 1] / np.maximum(met[members, 0], 1.0)
            # Who has not been met enough is tried as if he hurt as much as the worst.
            scores = np.where(known, paid, paid[known].max() if known.any() else 0.0)
        chances: NDArray[np.float64] = np.exp(scores - scores.max())
        chances = _CALM / len(members) + (1.0 - _CALM) * chances / chances.sum()
        return chances / chances.sum()

    def _take_copy(self, decisions: int, network: Network) -> None:
        """Add a copy; where the pool is full, it takes the number of the one that is most nearly between its neighbours."""
        agent = self._frozen(decisions, copy.deepcopy(network))
        if len(self.copies) < self.config.pool.size:
            number = len(self.games.agents)
            self.games.agents = [*self.games.agents, agent]
        else:
            number = self._most_crowded()
            self.games.agents = [agent if place == number else other for place, other in enumerate(self.games.agents)]
            if number < len(self.games.met):
                self.games.met[number] = 0.0
        self.copies[number] = decisions, agent

    def _frozen(self, decisions: int, network: Network) -> LearnedAgent:
        policy = Policy(self.games.game, self.config.rules, network.cpu().eval().requires_grad_(False), {})
        return LearnedAgent(policy, f"{self.config.name} at {decisions:,}")

    def _most_crowded(self) -> int:
        numbers = sorted(self.copies, key=lambda number: self.copies[number][0])
        ages = [self.copies[number][0] for number in numbers]
        gaps = [ages[place + 1] - (ages[place - 1] if place else 0) for place in range(len(ages) - 1)]
        return numbers[int(np.argmin(gaps))] if gaps else numbers[0]


def _shares(group: Group) -> NDArray[np.float64]:
    shares = np.ones(len(group.agents)) if group.shares is None else np.array(group.shares, dtype=np.float64)
    return shares / shares.sum()


@kernel
def draw_tables(
    seeds: Any, numbers: Any, players: Any, by_table: bool, groups: Any, members: Any, shares: Any, starts: Any, outside: Any, chairs: Any
) -> None:
    """Write the learner's first seats, (k,), and who sits where, (k, max_seats), LEARNER for him and for nobody.

    `groups` are cumulated shares; `members` and their cumulated `shares` lie one group after the other, group g from `starts[g]` on.
    """
    for k in range(len(seeds)):
        word = mix(mix(_LEAGUE, seeds[k]), numbers[k])
        word, drawn = below(word, players[k])
        outside[k] = drawn
        chairs[k, :] = -1
        group = 0
        for place in range(1, players[k]):
            if place == 1 or not by_table:
                word, share = uniform(word)
                group = 0
                while group < len(groups) - 1 and share >= groups[group]:
                    group += 1
            word, share = uniform(word)
            member = starts[group]
            while member < starts[group + 1] - 1 and share >= shares[member]:
                member += 1
            chairs[k, (drawn + place) % players[k]] = members[member]
