"""A small game solved exactly with OpenSpiel: its value, how far agents are from it, and the engine's play, which reproduces it.

Seat 0 holds the cards 3 and 5 of seven, and both players know it; the cards of seat 1 and of the two rows are dealt. Without such a
difference the seats would be alike, and the value of the game 0.
"""

from __future__ import annotations

import pyspiel
from open_spiel.python.algorithms.exploitability import exploitability
from open_spiel.python.algorithms.sequence_form_lp import solve_zero_sum_game

from sixnimmt_env import agents
from sixnimmt_env.interop import exact
from sixnimmt_env.interop.open_spiel import AgentPolicy, tabular

GAME = "python_sixnimmt(players=2,hand_size=2,num_rows=2,row_capacity=2,deck_size=7,deal=3 5)"


def main(total_steps: int = 20_000) -> float:
    """Solve the game, play it `total_steps` times, and return the mean bull heads that seat 0 takes."""
    game = pyspiel.load_game(GAME)
    turn_based = pyspiel.convert_to_turn_based(game)
    value, _, *equilibrium = solve_zero_sum_game(turn_based)
    print(f"value of the game to seat 0: {value:.6f}, that is half the heads that it takes less than seat 1")
    for name, throws in (("random", 256), ("greedy", 1)):
        loss = exploitability(turn_based, AgentPolicy(turn_based, agents.make(name), throws))
        print(f"{name} loses up to {loss:.4f} against an opponent who knows it")

    policy = tabular(equilibrium)
    costs = exact.expected(game.tree, policy)
    print(f"on the engine, over all deals: {(costs[1] - costs[0]) / 2:.6f}")
    mean, error = exact.sampled(game.tree, policy, total_steps)
    print(f"bull heads of seat 0 in {total_steps:,} matches: {mean[0]:.2f}, expected are {costs[0]:.2f}")
    assert abs((costs[1] - costs[0]) / 2 - value) < 1e-6, "the engine plays another game"
    assert abs(mean - costs).max() < 4 * error.max(), "the engine deals other cards"
    return float(mean[0])


if __name__ == "__main__":
    assert main() < 1.1, "in equilibrium it takes 1.00"
