"""Games in which one seat each is played from outside, and agents play the others: what every single-agent form runs on.

A step takes each game from one decision of the outside seat to the next. Agents are asked in batches over all games, get views, and nothing
else. Who sits where follows from (seed, game), as the deals do: nothing here has a random state of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ..agents import Agent, decide
from ..core.game import Game, Rules
from ..core.kernel import kernel
from ..core.seeding import below, mix, uniform

Seat = int | Literal["random", "rotate"]

_OUTSIDE: Final = np.uint64(0x0071_5EA7)  # keeps the draw of seats apart from that of the cards
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

    Attributes:
        views: (count,) what the outside seats know now; at the end of a match, what they know then.
        masks: (count, num_actions) int8, their legal actions; all 0 when the match is over.
        costs: (count,) int64, their costs of the match so far.
        over: (count,) bool, whose match is over; `restart` starts the next one.
        outside: (count,) the outside seats.
        forced: how many forced actions have been played without asking.

    Raises:
        ValueError: a number of agents or a seat that does not fit the number of players.
    """

    def __init__(
        self,
        game: Game,
        rules: Rules,
        agents: Sequence[Agent],
        weights: Sequence[float] | None,
        count: int,
        seat: Seat = "random",
        skip_forced: bool = False,
    ) -> None:
        self.game, self.rules, self.agents, self.skip_forced = game, rules, tuple(agents), skip_forced
        players = rules.num_players
        if weights is None and len(self.agents) not in (1, players - 1):
            raise ValueError(
                f"{len(self.agents)} opponents for {players} players: give one for all other seats, or {players - 1}, one each"
            )
        if not (seat in ("random", "rotate") or (isinstance(seat, int) and not isinstance(seat, bool) and 0 <= seat < players)):
            raise ValueError(f'seat={seat!r} must be 0..{players - 1}, "random" or "rotate"')
        self._seat = seat if isinstance(seat, int) else {"random": -1, "rotate": -2}[seat]
        shares = np.array([] if weights is None else weights, dtype=np.float64)
        self._cumulative = shares.cumsum() / shares.sum() if len(shares) else shares
        self._all = np.arange(count)
        self.states = game.new_states(rules, count)
        self.outside = np.zeros(count, dtype=np.int64)
        self._chairs = np.full((count, game.max_seats), -1, dtype=np.int64)
        self.views = np.zeros(count, dtype=game.view_dtype)
        self.masks = np.zeros((count, game.num_actions), dtype=np.int8)
        self.costs = np.zeros(count, dtype=np.int64)
        self.over = np.zeros(count, dtype=np.bool_)
        self.forced = 0

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
        games = self._all if games is None else games
        self._move(games, np.ones(len(games), dtype=np.bool_), choices)
        self._play_on(games)

    def abandon(self, games: NDArray[np.int64]) -> None:
        """End the matches of `games` as they stand."""
        self.game.abandon(self.states, games)
        self._look(games)
        self.over[games] = True

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _begin(self, games: NDArray[np.int64]) -> None:
        """Deal and play to the first decision; matches that end before one are followed by the next."""
        for _ in range(_PATIENCE):
            self.game.deal(self.states, games)
            self._seat_everybody(games)
            self._play_on(games)
            games = games[self.over[games]]
            if not len(games):
                return
            self.states["game"][games] += np.uint64(1)
        raise NoChoiceError(f"in {_PATIENCE} matches in a row the seat never had a choice: there is nothing to decide in this variant")

    def _seat_everybody(self, games: NDArray[np.int64]) -> None:
        outside, chairs = self.outside[games], self._chairs[games]
        seeds, numbers = self.states["seed"][games], self.states["game"][games]
        draw_seats(seeds, numbers, self.rules.num_players, self._seat, len(self.agents), self._cumulative, outside, chairs)
        self.outside[games], self._chairs[games] = outside, chairs

    def _play_on(self, games: NDArray[np.int64]) -> None:
        """Play `games` on until each waits for its outside seat or is over."""
        started = games
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
        self.costs[started] = self.game.costs(self.states)[started, self.outside[started]]

    def _look(self, games: NDArray[np.int64]) -> None:
        """Note what the outside seats of `games` know and may do."""
        views = np.zeros(len(games), dtype=self.game.view_dtype)
        self.game.reveal(self.states, games, self.outside[games], views)
        masks = np.empty((len(games), self.game.num_actions), dtype=np.int8)
        self.game.legal(views, masks)
        _as_bytes(self.views)[games] = _as_bytes(views)
        self.masks[games] = masks

    def _move(self, games: NDArray[np.int64], asked: NDArray[np.bool_], choices: NDArray[np.int64]) -> None:
        """One step of `games`: agents decide for their seats; `choices` are the outside seats' in the games where `asked`."""
        actions = np.zeros((len(games), self.game.max_seats), dtype=np.int64)
        actions[asked, self.outside[games[asked]]] = choices
        decide(self.game, self.states, games, self._chairs, self.agents, actions)
        illegal = np.zeros(len(games), dtype=np.uint16)
        self.game.step(self.states, games, actions, illegal)
        if illegal.any():
            place = int(np.flatnonzero(illegal)[0])
            seat = int(illegal[place]).bit_length() - 1
            number = self._chairs[games[place], seat]
            who = f"the opponent {self.agents[number].name!r}" if number >= 0 else "the outside seat"
            raise OpponentError(
                f"{who} chose {actions[place, seat]} ({self.game.action_name(int(actions[place, seat]))}), which is illegal"
            )


def _as_bytes(records: NDArray[np.void]) -> NDArray[np.uint8]:
    """Records as rows of bytes: NumPy copies structured records field by field, twenty times slower."""
    return records.view(np.uint8).reshape(len(records), records.dtype.itemsize)


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
