"""Fitting the search's model of the others: what it is fitted to, that it learns, and what it writes."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from sixnimmt_env import agents
from sixnimmt_env.games.sixnimmt import Rules, plausible, plausible_weights
from training import plausible as fitting


@pytest.mark.parametrize("rules", [Rules(), Rules(num_players=2, deck="tactical"), Rules(num_players=3, deck="logic", professional=True)])
def test_every_pick_but_the_last_is_a_case(rules: Rules) -> None:
    numbers, there, laid, games = fitting.cases(agents.make("greedy"), rules, 6, seed=1)
    picks = 6 * rules.num_players * (rules.hand_size - 1)
    assert numbers.shape == (picks, 10, plausible.NUM_NUMBERS)
    assert (there.sum(axis=1) >= 2).all()
    assert np.bincount(there.sum(axis=1)).tolist() == [0, 0] + [6 * rules.num_players] * (rules.hand_size - 1)
    assert there[np.arange(picks), laid].all()
    assert not numbers[~there].any()
    assert numbers[there].any(axis=1).all()
    assert sorted(set(games.tolist())) == list(range(6))
    assert numbers[np.arange(picks), laid, plausible.COST].mean() < numbers[there][:, plausible.COST].mean()  # greedy's are cheap


def test_it_learns_what_greedy_lays() -> None:
    data = fitting.cases(agents.make("greedy"), Rules(num_players=3), 60, seed=2)
    chance = -float(np.log(data[1].sum(axis=1)).mean())
    _, before = fitting.fit(data, 1, seed=0)
    _, after = fitting.fit(data, 300, seed=0)
    assert before == pytest.approx(chance, abs=0.4)
    assert after > chance + 0.6


def test_it_is_tested_on_other_games_than_it_is_fitted_to() -> None:
    """The lowest card in nine games of ten, the highest in the tenth: what is learned is wrong there."""
    numbers, there, laid, games = fitting.cases(agents.make("random"), Rules(num_players=3), 40, seed=3)
    for game in range(40):
        part = games == game
        laid[part] = 0 if game % 10 else there[part].sum(axis=1) - 1
    _, score = fitting.fit((numbers, there, laid, games), 200, seed=0)
    assert score < -np.log(there.sum(axis=1)).mean() - 1.0


def test_it_writes_a_module_with_the_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(fitting, "PLAYED", (("greedy", Rules(num_players=2), 20),))
    monkeypatch.setattr("sys.argv", ["plausible", "--out", str(tmp_path / "w.py"), "--steps", "20"])
    assert fitting.main() == 0
    out = capsys.readouterr().out
    assert "greedy, 2 players, standard: 360 picks" in out
    assert "mean logarithm of the chance given to the card laid, in games not fitted to: -" in out
    written = runpy.run_path(str(tmp_path / "w.py"))
    for name in ("HIDDEN", "BIAS", "OUT"):
        assert written[name].shape == getattr(plausible_weights, name).shape
        assert written[name].dtype == np.float64
    assert np.abs(written["HIDDEN"]).max() > 0.05
    assert len(plausible_weights.OUT) == fitting.UNITS


def test_what_is_written_is_the_net() -> None:
    data = fitting.cases(agents.make("greedy"), Rules(num_players=2), 20, seed=4)
    net, _ = fitting.fit(data, 20, seed=0)
    space: dict[str, object] = {}
    exec(fitting.source(net), space)
    state = net.state_dict()
    for name, key in (("HIDDEN", "0.weight"), ("BIAS", "0.bias"), ("OUT", "2.weight")):
        assert np.abs(np.asarray(space[name]) - state[key].numpy().reshape(np.shape(space[name]))).max() <= 0.005 + 1e-6
