"""Games in which one seat each is played from outside, and agents play the others: what every single-agent form runs on.

A step takes each game from one decision of the outside seat to the next. Agents are asked in batches over all games, get views, and nothing
else. Who sits where follows from (seed, game), as the deals do: nothing here has a random state of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..agents import Agent, HeuristicAgent, decide, name_of
from ..core.game import Game, Rules
from ..core.kernel import kernel
from ..core.records import as_bytes
from ..core.saved import put_back, taken, whole, within
from ..core.seeding import below, mix, uniform

Seat = int | Literal["random", "rotate"]

_OUTSIDE: Final = np.uint64(0x0071_5EA7)  # keeps the draw of seats apart from that of the cards
_DRAWN: Final = {"random": -1, "rotate": -2}  # what `draw_seats` knows these by
_AHEAD: Final = 256  # places kept free in the record: more decisions than can lie between two of the outside seat
_PATIENCE: Final = 1000  # matches in a row without a choice after which a variant is taken to have none


class NoChoiceError(ValueError):
    """The outside seat never has more than one legal action: there is nothing to decide."""


class OpponentError(ValueError):
    """An opponent did what the rules do not allow."""


class SeatGames:
    """`count` games side by side.

    Args:
        game: what is played.
        rules: the variant.
        agents: who plays the other seats.
        weights: every other seat of every game draws its agent anew, with these weights. None: one agent plays them all, or one a seat is
            given, clockwise from the outside seat.
        count: games.
        seat: the outside seat: a number, "random" (drawn for each match) or "rotate" (one further in each match).
        skip_forced: play the outside seat's forced actions, where only one is legal, without asking.
        record: keep the decisions of the match, for a single game.

    Attributes:
        views: (count,) what the outside seats know now; at the end of a match, what they know then.
        masks: (count, num_actions) int8, their legal actions; all 0 when the match is over.
        costs: (count,) int64, their costs of the match so far.
        over: (count,) bool, whose match is over; `restart` starts the next one.
        outside: (count,) the outside seats.
        slot_games: (count,) the game that each of these belongs to: here one a game, but others may let several seats of a game be outside.
        playing: (count,) bool, whether they take part in the running match.
        players: (count,) how many play in each game.
        forced: how many forced actions have been played without asking.

    Raises:
        ValueError: a number of agents or a seat that does not fit the number of players.
    """

    _SAVED: tuple[str, ...] = ("states", "outside", "playing", "_chairs", "views", "masks", "costs", "over")

    def __init__(
        self,
        game: Game,
        rules: Rules,
        agents: Sequence[Agent],
        weights: Sequence[float] | None,
        count: int,
        seat: Seat = "random",
        skip_forced: bool = False,
        record: bool = False,
    ) -> None:
        self.game, self.rules, self.agents, self.skip_forced = game, rules, tuple(agents), skip_forced
        players = rules.num_players
        if weights is None and len(self.agents) not in (1, players - 1):
            raise ValueError(
                f"{len(self.agents)} opponents for {players} players: give one for all other seats, or {players - 1}, one each"
            )
        whole = isinstance(seat, (int, np.integer)) and not isinstance(seat, bool)
        if not (whole and 0 <= int(seat) < players) and not (isinstance(seat, str) and seat in _DRAWN):
            raise ValueError(f'seat={seat!r} must be 0..{players - 1}, "random" or "rotate"')
        self._seat = _DRAWN[seat] if isinstance(seat, str) else int(seat)
        shares = np.array([] if weights is None else weights, dtype=np.float64)
        self._cumulative = shares.cumsum() / shares.sum() if len(shares) else shares
        self._all = np.arange(count)
        self.states = game.new_states(rules, count)
        self.players = np.full(count, players)
        self._chairs = np.full((count, game.max_seats), -1, dtype=np.int64)
        self._lay_out(self._all)
        self.forced = 0
        self._rule_based = all(type(agent) is HeuristicAgent for agent in self.agents)
        self._kinds = np.array([game.heuristics[agent.name].kind for agent in self.agents] if self._rule_based else [], dtype=np.int64)
        self._dice: tuple[list[int], NDArray[np.uint64]] = [], np.zeros(0, dtype=np.uint64)  # the agents' seeds, twice
        self._records = record
        self._log = np.zeros((2 * _AHEAD if record else 0, 2), dtype=np.int64)
        self._logged = np.zeros(1, dtype=np.int64)

    @property
    def decisions(self) -> list[tuple[int, int]]:
        """(seat, action) of the match so far, if it is recorded."""
        return [(seat, action) for seat, action in self._log[: self._logged[0]].tolist()]

    def _lay_out(self, slot_games: NDArray[np.int64]) -> None:
        """Make room for the outside seats, which belong to the games `slot_games`, ascending."""
        slots = len(slot_games)
        self.slot_games = slot_games
        self._first = np.searchsorted(slot_games, self._all)  # the first outside seat of each game
        self.outside = np.zeros(slots, dtype=np.int64)
        self.playing = np.ones(slots, dtype=np.bool_)
        self.views = np.zeros(slots, dtype=self.game.view_dtype)
        self.masks = np.zeros((slots, self.game.num_actions), dtype=np.int8)
        self.costs = np.zeros(slots, dtype=np.int64)
        self.over = np.zeros(slots, dtype=np.bool_)

    @property
    def due(self) -> NDArray[np.bool_]:
        """(count,) bool, who has to decide."""
        return ~self.over

    def ended(self) -> NDArray[np.int64]:
        """The games whose match is over."""
        ended: NDArray[np.int64] = np.flatnonzero(self.over[self._first])
        return ended

    def start(self, seeds: NDArray[np.uint64], numbers: NDArray[np.uint64], games: NDArray[np.int64] | None = None) -> None:
        """Start matches: `seeds` and `numbers`, both (k,), say which games of which stream `games` (default: all) are to be."""
        games = self._all if games is None else games
        self.states["seed"][games] = seeds
        self.states["game"][games] = numbers
        self._begin(games)

    def restart(self, games: NDArray[np.int64]) -> None:
        """Start the next match of the stream in each of `games`."""
        self.states["game"][games] += np.uint64(1)
        self._begin(games)

    def step(self, choices: NDArray[np.int64], games: NDArray[np.int64] | None = None) -> None:
        """Carry out the outside seats' legal `choices`, (k,), in `games` (default: all), and play on to their next decisions."""
        self._play_on(self._all if games is None else games, choices)

    def abandon(self, games: NDArray[np.int64]) -> None:
        """End the matches of `games` as they stand."""
        self.game.abandon(self.states, games)
        self._look(games)
        self.over[games] = True

    def company(self, games: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Who sat in the matches of `games`, and what they have cost the outside seats so far, on average over these.

        Returns:
            (k, agents + 1) bool, which agents sat there, the last column for a second outside seat; and (k,) costs.
        """
        there = np.arange(self.game.max_seats) < self.players[games][:, None]
        chairs = self._chairs[games]
        outside = (chairs == -1) & there
        sat = np.zeros((len(games), len(self.agents) + 1), dtype=np.bool_)
        rows, seats = np.nonzero(there & ~outside)
        sat[rows, chairs[rows, seats]] = True
        many = outside.sum(axis=1)
        sat[:, -1] = many > 1
        return sat, (self.game.costs(self.states)[games] * outside).sum(axis=1) / many

    def state(self) -> dict[str, Any]:
        """How play stands: copies of everything that decides how it goes on. (What `record` keeps is of the past, and not in it.)"""
        return {**taken(self, self._SAVED), "forced": self.forced}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state` of games that were made alike. What its records hold is believed.

        Raises:
            KeyError, ValueError: it is that of other games.
        """
        put_back(self, self._SAVED, state)
        within(self.outside, "outside", 0, self.players[self.slot_games])
        within(self._chairs, "chairs", -1, len(self.agents))
        self.forced = whole(state["forced"], "forced")

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _begin(self, games: NDArray[np.int64]) -> None:
        """Deal and play to the first decision; matches that end before one are followed by the next."""
        for _ in range(_PATIENCE):
            self.game.deal(self.states, games)
            self._logged[0] = 0
            self._seat_everybody(games)
            self._open(games)
            games = games[self.over[self._first[games]]]
            if not len(games):
                return
            self.states["game"][games] += np.uint64(1)
        raise NoChoiceError(f"in {_PATIENCE} matches in a row the seat never had a choice: there is nothing to decide in this variant")

    def _open(self, games: NDArray[np.int64]) -> None:
        """Play to the first decision."""
        self._play_on(games, np.full(len(games), -1))

    def _seat_everybody(self, games: NDArray[np.int64]) -> None:
        outside, chairs = self.outside[games], self._chairs[games]
        seeds, numbers = self.states["seed"][games], self.states["game"][games]
        draw_seats(seeds, numbers, self.rules.num_players, self._seat, len(self.agents), self._cumulative, outside, chairs)
        self.outside[games], self._chairs[games] = outside, chairs

    def _play_on(self, games: NDArray[np.int64], choices: NDArray[np.int64]) -> None:
        """Carry out `choices`, -1 where there is none, and play `games` on until each waits for its outside seat or is over."""
        if self._records and self._logged[0] + _AHEAD > len(self._log):
            self._log = np.concatenate([self._log, np.zeros_like(self._log)])
        if self._rule_based and self.game.play_on is not None:
            self._play_compiled(games, choices)
        else:
            self._play_asking(games, choices)
            self.costs[games] = self.game.costs(self.states)[games, self.outside[games]]

    def _play_compiled(self, games: NDArray[np.int64], choices: NDArray[np.int64]) -> None:
        """Rule-based players only: no view need leave compiled code."""
        assert self.game.play_on is not None
        seeds = [agent.seed for agent in self.agents]
        if seeds != self._dice[0]:  # they may be given other dice at any time
            self._dice = seeds, np.array(seeds, dtype=np.uint64)
        players = self._chairs, self._kinds, self._dice[1]
        seen = self.views, self.masks, self.over, self.costs
        done = self.game.play_on(self.states, games, choices, self.outside, *players, self.skip_forced, *seen, self._log, self._logged)
        if done < 0:
            self._refuse(int(games[-1 - done]), int(self.outside[games[-1 - done]]), int(choices[-1 - done]))
        self.forced += done

    def _play_asking(self, games: NDArray[np.int64], choices: NDArray[np.int64]) -> None:
        """Any agents, which are asked in batches over all games and seats."""
        given = choices >= 0
        if given.any():
            self._move(games, given, choices[given])
        while len(games):
            due = np.empty(len(games), dtype=np.uint16)
            self.game.to_act(self.states, games, due)
            over = due == 0
            asked = (due >> self.outside[games].astype(np.uint16)) & 1 == 1
            self._look(games[over | asked])
            self.over[games] = over
            forced = asked & (self.masks[games].sum(axis=1, dtype=np.int16) == 1) if self.skip_forced else np.zeros_like(asked)
            self.forced += int(forced.sum())
            going = ~over & (~asked | forced)
            games, forced = games[going], forced[going]
            if len(games):
                self._move(games, forced, self.masks[games[forced]].argmax(axis=1))

    def _look(self, games: NDArray[np.int64]) -> None:
        """Note what the outside seats of `games` know and may do."""
        views = np.zeros(len(games), dtype=self.game.view_dtype)
        self.game.reveal(self.states, games, self.outside[games], views)
        masks = np.empty((len(games), self.game.num_actions), dtype=np.int8)
        self.game.legal(views, masks)
        as_bytes(self.views)[games] = as_bytes(views)
        self.masks[games] = masks

    def _move(self, games: NDArray[np.int64], asked: NDArray[np.bool_], choices: NDArray[np.int64]) -> None:
        """One step of `games`: agents decide for their seats; `choices` are the outside seats' in the games where `asked`."""
        actions = np.zeros((len(games), self.game.max_seats), dtype=np.int64)
        actions[asked, self.outside[games[asked]]] = choices
        decide(self.game, self.states, games, self._chairs, self.agents, actions)
        if self._records:
            self._note(actions[0])
        illegal = np.zeros(len(games), dtype=np.uint16)
        self.game.step(self.states, games, actions, illegal)
        if illegal.any():
            place = int(np.flatnonzero(illegal)[0])
            seat = int(illegal[place]).bit_length() - 1
            self._refuse(int(games[place]), seat, int(actions[place, seat]))

    def _note(self, actions: NDArray[np.int64]) -> None:
        """Keep what the seats that decide in the recorded game are about to do."""
        due = np.empty(1, dtype=np.uint16)
        self.game.to_act(self.states, self._all, due)
        for seat in np.flatnonzero(due >> np.arange(self.game.max_seats, dtype=np.uint16) & 1):
            self._log[self._logged[0]] = seat, actions[seat]
            self._logged[0] += 1

    def _refuse(self, game: int, seat: int, action: int) -> NoReturn:
        number = self._chairs[game, seat]
        who = f"the opponent {name_of(self.agents[number])!r}" if number >= 0 else "the outside seat"
        raise OpponentError(f"{who} chose {action} ({self.game.action_name(action)}), which is illegal")


@kernel
def draw_seats(seeds: Any, numbers: Any, players: int, seat: int, agents: int, cumulative: Any, outside: Any, chairs: Any) -> None:
    """Write the outside seats, (k,), and which agent sits where, (k, max_seats), -1 for nobody of them.

    `seat` is a number, -1 for a random one, -2 for one further in each match. `cumulative` holds the agents' cumulated shares, or
    nothing: then they sit clockwise from the outside seat, a single one everywhere.
    """
    for k in range(len(seeds)):
        word = mix(mix(_OUTSIDE, seeds[k]), numbers[k])
        word, drawn = below(word, players)
        if seat == -1:
            outside[k] = drawn
        elif seat == -2:
            outside[k] = np.int64(numbers[k] % np.uint64(players))
        else:
            outside[k] = seat
        for place in range(players):
            chair = (outside[k] + place) % players
            if place == 0:
                chairs[k, chair] = -1
            elif len(cumulative) == 0:
                chairs[k, chair] = (place - 1) % agents
            else:
                word, share = uniform(word)
                agent = 0
                while agent < agents - 1 and share >= cumulative[agent]:
                    agent += 1
                chairs[k, chair] = agent
