"""Fits the search's model of what the others play, `games/sixnimmt/plausible.py`, and writes its weights: `python -m training.plausible`.

Flat Monte Carlo and the search itself, with the weights there are, play rounds of several variants by themselves. Each pick is one case:
the numbers by which another seat at the table describes the cards of that hand, and which of them was laid. The net is fitted by maximum
likelihood, a softmax over the cards of the hand; a tenth of the games is kept to test it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from sixnimmt_env import agents
from sixnimmt_env.agents import Agent, decide
from sixnimmt_env.core.cards import to_list
from sixnimmt_env.core.files import write_atomically
from sixnimmt_env.games.sixnimmt import GAME, Rules, plausible, plausible_weights
from sixnimmt_env.games.sixnimmt.rules import MAX_HAND
from sixnimmt_env.games.sixnimmt.state import PICK

UNITS: Final = 16
FLAT, SEARCH = "monte_carlo:rollouts=300", "search:rollouts=150"
# (who plays, variant, rounds)
PLAYED: Final = (
    (FLAT, Rules(), 250),
    (FLAT, Rules(num_players=2), 200),
    (FLAT, Rules(num_players=3), 120),
    (FLAT, Rules(num_players=6), 70),
    (FLAT, Rules(num_players=10), 40),
    (FLAT, Rules(professional=True), 100),
    (FLAT, Rules(deck="tactical"), 60),
    (SEARCH, Rules(), 250),
    (SEARCH, Rules(num_players=2), 60),
    (SEARCH, Rules(num_players=6), 70),
    (SEARCH, Rules(num_players=10), 40),
    (SEARCH, Rules(professional=True), 100),
)

Cases = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]
"""Numbers of the cards (n, 10, 20), which of them are cards (n, 10), which was laid (n,), and the game (n,)."""


def cases(player: Agent, rules: Rules, rounds: int, seed: int) -> Cases:
    """What `player` picks in all seats of so many rounds, as the next seat sees it. A last card is no choice, and left out."""
    states, index = GAME.new_states(rules, rounds, seed), np.arange(rounds)
    GAME.deal(states, index)
    seats = np.full((rounds, GAME.max_seats), -1)
    seats[:, : rules.num_players] = 0
    found: list[Cases] = []
    while True:
        actions = np.zeros((rounds, GAME.max_seats), dtype=np.int64)
        asked = decide(GAME, states, index, seats, [player], actions)
        if not (asked >= 0).any():
            return _joined(found)
        table = states["table"]
        picking = (asked >= 0) & ((table["phase"] == PICK) & (table["turn"] < table["hand_size"] - 1))[:, None]
        found.append(_described(states, *np.nonzero(picking), actions))
        GAME.step(states, index, actions, np.zeros(rounds, dtype=np.uint16))


def _described(states: NDArray[np.void], games: NDArray[np.int64], seats: NDArray[np.int64], actions: NDArray[np.int64]) -> Cases:
    views = np.zeros(len(games), dtype=GAME.view_dtype)
    GAME.reveal(states, games, (seats + 1) % states["table"]["num_players"][games], views)
    hands = np.ascontiguousarray(states["hands"][games, seats])
    numbers = np.zeros((len(games), MAX_HAND, plausible.NUM_NUMBERS))
    plausible.describe_hands(views, hands, numbers)
    held = [to_list(hand) for hand in hands]
    there = np.arange(MAX_HAND) < np.array([len(hand) for hand in held], dtype=np.int64)[:, None]
    laid = np.array([hand.index(card) for hand, card in zip(held, actions[games, seats] + 1, strict=True)], dtype=np.int64)
    return numbers, there, laid, games


def _joined(parts: list[Cases]) -> Cases:
    numbers, there, laid, games = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return numbers, there, laid, games


def fit(data: Cases, steps: int, seed: int) -> tuple[torch.nn.Sequential, float]:
    """The net, and the mean logarithm of the chance that it gives to the card that was laid, in games that it was not fitted to."""
    torch.manual_seed(seed)
    numbers, there, laid = torch.tensor(data[0], dtype=torch.float32), torch.tensor(data[1]), torch.tensor(data[2])
    test = torch.tensor(data[3] % 10 == 0)
    train = torch.nonzero(~test)[:, 0]
    net = torch.nn.Sequential(torch.nn.Linear(plausible.NUM_NUMBERS, UNITS), torch.nn.ReLU(), torch.nn.Linear(UNITS, 1, bias=False))
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)

    def loss(part: torch.Tensor) -> torch.Tensor:
        scores = net(numbers[part])[..., 0].masked_fill(~there[part], -torch.inf)
        return torch.nn.functional.cross_entropy(scores, laid[part])

    for _ in range(steps):
        optimizer.zero_grad()
        loss(train[torch.randint(len(train), (2048,))]).backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        return net, -float(loss(torch.nonzero(test)[:, 0]))


def source(net: torch.nn.Sequential) -> str:
    """The module that holds the weights of `net`."""
    state = net.state_dict()
    lines = ['"""The weights of `plausible`, as `python -m training.plausible` has written them."""', ""]
    lines += ["from typing import Final", "", "import numpy as np", ""]
    lines += ["# fmt: off", "HIDDEN: Final = np.array([  # (units, numbers)"]
    for unit in state["0.weight"]:
        lines += [f"    [{_row(unit[:10])},", f"     {_row(unit[10:])}],"]
    lines += ["])"]
    for name, key in (("BIAS", "0.bias"), ("OUT", "2.weight")):
        values = state[key].flatten()
        lines += [f"{name}: Final = np.array([  # (units,)", f"    {_row(values[:8])},", f"    {_row(values[8:])},", "])"]
    lines += ["# fmt: on", ""]
    return "\n".join(lines)


def _row(values: torch.Tensor) -> str:
    return ", ".join(f"{value:.2f}" for value in values.flatten().tolist())


def main() -> int:
    """Play, fit, write."""
    parser = argparse.ArgumentParser(prog="python -m training.plausible", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(plausible_weights.__file__), help="the module to write (default: the package's)")
    parser.add_argument("--share", type=float, default=1.0, help="of the rounds to play; for a trial")
    parser.add_argument("--steps", type=int, default=3000, help="of the optimizer, 2048 picks each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    parts = []
    for number, (spec, rules, rounds) in enumerate(PLAYED):
        played = max(10, round(rounds * options.share))
        parts.append(cases(agents.make(spec, GAME, options.seed + 1), rules, played, options.seed + number))
        variant = f"{rules.num_players} players, {rules.deck}{', professional' * rules.professional}"
        print(f"{spec}, {variant}: {len(parts[-1][2]):,} picks", flush=True)
    net, score = fit(_joined(parts), options.steps, options.seed)
    print(f"mean logarithm of the chance given to the card laid, in games not fitted to: {score:.3f}")
    write_atomically(options.out, source(net))
    return 0


if __name__ == "__main__":
    sys.exit(main())
