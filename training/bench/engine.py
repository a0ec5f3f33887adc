"""The compiled engine: card plays a second beside the plain Python resolver of the tests, ten players beside four, bytes a game."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sixnimmt_env import agents, games
from sixnimmt_env.agents import decide
from sixnimmt_env.core.cards import to_list
from sixnimmt_env.core.game import Game, Views

from .measure import Bar, Result, Scale, compare, rate

RESOLVER: Final = Path(__file__).parents[2] / "tests" / "reference.py"

# What is promised of a batch of BATCH games.
BATCH: Final = 1024
STEP_BAR: Final = Bar("ratio", "least", 60)
PLAYERS_BAR: Final = Bar("ratio", "most", 2.6)
MEMORY_BAR: Final = Bar("value", "most", 512)


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of the games that go on, and room for what their seats see before it (two lines a seat: which, and what)."""

    index: NDArray[np.int64]
    actions: NDArray[np.int64]
    due: NDArray[np.bool_]  # (k, max_seats): whose actions count
    illegal: NDArray[np.uint16]
    viewers: tuple[NDArray[np.int64], NDArray[np.int64]]  # games and seats: every seat of every game
    views: Views
    observations: NDArray[np.float32]


class Script:
    """Whole games of random play, decided beforehand, so that playing them is the engine's work alone."""

    def __init__(self, game: Game, players: int, count: int, seed: int = 0) -> None:
        self.game, self.players = game, players
        self.states = game.new_states(game.rules(num_players=players), count, seed)
        self._everybody = np.arange(count)
        game.deal(self.states, self._everybody)
        self.dealt = self.states.copy()
        self.turns = self._decide(seed)
        self.cards = 10 * players * count  # card plays, whole games

    def _decide(self, seed: int) -> list[Turn]:
        game, index = self.game, self._everybody
        chairs = np.full((len(index), game.max_seats), -1)
        chairs[:, : self.players] = 0
        player = agents.make("random", game, seed=seed)
        views = np.zeros(len(index) * self.players, dtype=game.view_dtype)
        observations = np.zeros((len(views), game.compact_size), dtype=np.float32)
        turns: list[Turn] = []
        while True:
            actions = np.zeros((len(index), game.max_seats), dtype=np.int64)
            due = decide(game, self.states, index, chairs, [player], actions) >= 0
            going = due.any(axis=1)
            if not going.any():
                return turns
            index, actions, due = index[going], actions[going], due[going]
            size = len(index) * self.players
            viewers = np.repeat(index, self.players), np.tile(np.arange(self.players), len(index))
            turn = Turn(index, actions, due, np.zeros(len(index), dtype=np.uint16), viewers, views[:size], observations[:size])
            game.step(self.states, index, actions, turn.illegal)
            turns.append(turn)

    def play(self) -> tuple[float, float]:
        """All games, steps only."""
        step, states = self.game.step, self.states
        np.copyto(states, self.dealt)
        before = time.perf_counter()
        for turn in self.turns:
            step(states, turn.index, turn.actions, turn.illegal)
        return self.cards, time.perf_counter() - before

    def watch(self) -> tuple[float, float]:
        """All games; before each step every seat of the games that go on is shown what it may know."""
        step, reveal, encode, states = self.game.step, self.game.reveal, self.game.encode, self.states
        np.copyto(states, self.dealt)
        before = time.perf_counter()
        for turn in self.turns:
            reveal(states, *turn.viewers, turn.views)
            encode(turn.views, turn.observations)
            step(states, turn.index, turn.actions, turn.illegal)
        return self.cards, time.perf_counter() - before

    def seconds_a_turn(self, seconds: float) -> Callable[[], float]:
        """A measurement: seconds that a turn of one game takes."""
        cards = rate(self.play, seconds)
        return lambda: self.players / cards()


class PlainGames:
    """The first games of a script, card by card, in plain Python."""

    def __init__(self, resolver: ModuleType, script: Script, count: int) -> None:
        self._resolver, self._players = resolver, script.players
        self.games: list[Any] = []  # as last played
        self._deals = [_deal(script.dealt[game], script.players) for game in range(min(count, len(script.dealt)))]
        self._choices: list[list[dict[int, int]]] = [[] for _ in self._deals]
        for turn in script.turns:
            for game, actions, due in zip(turn.index, turn.actions, turn.due, strict=True):
                if game < len(self._choices):
                    self._choices[game].append({int(seat): int(actions[seat]) for seat in np.flatnonzero(due)})

    def play(self) -> tuple[float, float]:
        """All games; setting them up is not counted, as it is not for the engine."""
        self.games = []
        spent = 0.0
        for (hands, rows), choices in zip(self._deals, self._choices, strict=True):
            game = self._resolver.ReferenceGame(num_players=self._players)
            game.start_round(hands, rows)
            before = time.perf_counter()
            for actions in choices:
                game.apply(actions)
            spent += time.perf_counter() - before
            self.games.append(game)
        return 10 * self._players * len(self._deals), spent


def _deal(state: Any, players: int) -> tuple[list[list[int]], list[list[int]]]:
    """Hands and rows of a game that was just dealt."""
    return [to_list(hand) for hand in state["hands"][:players]], [[int(row[0])] for row in state["table"]["rows"]]


def resolver() -> ModuleType | None:
    """The plain resolver of the tests; None outside a checkout."""
    # By its path: the console script does not look in the checkout, and any installed package may have left a `tests` behind.
    if not RESOLVER.is_file():
        return None
    spec = importlib.util.spec_from_file_location("sixnimmt_plain_resolver", RESOLVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure_engine(scale: Scale) -> list[Result]:
    """Card plays a second of games of four, without and with observations."""
    game = games.get("sixnimmt")
    module = resolver()
    plain: Callable[[], float] | None = None
    beside = dict.fromkeys(("step", "observed"), "tests/reference.py is only in a checkout")
    if module is not None:
        plain = rate(PlainGames(module, Script(game, 4, scale.plain_games), scale.plain_games).play, scale.seconds)
        beside = {"step": "plain Python", "observed": "plain Python, not shown"}
    results = []
    for kind in beside:
        for batch in scale.batches:
            script = Script(game, 4, batch)
            work = rate(script.play if kind == "step" else script.watch, scale.seconds)
            bar = STEP_BAR if (kind, batch) == ("step", BATCH) else None
            results.append(compare(f"engine.{kind}.{batch}", "cards/s", work, beside[kind], plain, scale.pairs, bar))
    return results


def measure_players(scale: Scale) -> list[Result]:
    """Time of a turn with ten players beside four."""
    ten, four = (Script(games.get("sixnimmt"), players, scale.games).seconds_a_turn(scale.seconds) for players in (10, 4))
    return [compare("players.ten", "s/turn", ten, "four players", four, scale.pairs, PLAYERS_BAR)]


def measure_memory(scale: Scale) -> list[Result]:
    """Bytes that a game takes in a batch, the history of the round included."""
    game = games.get("sixnimmt")
    states = game.new_states(game.rules(), scale.games)
    return [Result("memory.game", states.nbytes / len(states), "bytes", bar=MEMORY_BAR)]
