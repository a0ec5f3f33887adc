"""Looking ahead with a learned policy: what it may know, what it counts, and that it helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sixnimmt_env import agents
from sixnimmt_env.games.sixnimmt import GAME, Rules, table_view
from tests.games.sixnimmt.playing import dealt, legal_masks, views_of
from tests.training.small import ATTENTION, DRAFT, PLAIN, decisions, network
from training import policy
from training.lookahead import LookaheadAgent
from training.network import Scorer, Shape
from training.plugin import agent_of
from training.policy import Policy

VARIANTS = [
    Rules(),
    Rules(num_players=2),
    Rules(num_players=10),
    Rules(num_players=3, professional=True),
    Rules(num_players=3, deck="tactical", rounds=2, hand_size=3),
    Rules(num_players=2, hand_size=1, num_rows=1, row_capacity=1),
]


def learned(shape: Shape = PLAIN, rules: Rules | None = None, **training: Any) -> Policy:
    return Policy(GAME, rules or Rules(), network(shape).eval(), training)


def ahead(found: Policy | None = None, **settings: Any) -> LookaheadAgent:
    return LookaheadAgent(found or learned(), "lookahead", **{"worlds": 3, "width": 3, **settings})


class Flat(Scorer):
    """Likes all actions alike, and expects nothing: what is left is what the next moments cost."""

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.zeros(len(observations), GAME.num_actions), torch.zeros(len(observations))

    def values(self, observations: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(observations))


@pytest.mark.parametrize("shape", [PLAIN, ATTENTION], ids=str)
@pytest.mark.parametrize("rules", VARIANTS)
def test_it_plays_by_the_rules(rules: Rules, shape: Shape) -> None:
    views = decisions(rules, matches=1)
    actions = ahead(learned(shape)).act(views)
    assert legal_masks(views)[np.arange(len(views)), actions].all()


def test_it_drafts() -> None:
    views = decisions(Rules(num_players=2, deck="logic", hand_size=3), matches=1)
    assert legal_masks(views)[np.arange(len(views)), ahead(learned(DRAFT)).act(views)].all()


def test_whatever_the_batch_it_does_the_same() -> None:
    views = decisions(Rules(num_players=3, hand_size=6), matches=2)
    agent = ahead(worlds=5)
    whole = agent.act(views)
    assert whole.tolist() == [int(agent.act(views[k : k + 1])[0]) for k in range(len(views))]
    order = np.random.default_rng(0).permutation(len(views))
    assert agent.act(np.ascontiguousarray(views[order])).tolist() == whole[order].tolist()


def test_its_dice_are_its_seed() -> None:
    views = decisions(Rules(), matches=6)
    chosen = [ahead(seed=seed, worlds=1, trust=0.0).act(views).tolist() for seed in (0, 0, 1)]
    assert chosen[0] == chosen[1] != chosen[2]


def test_who_has_nothing_to_decide_waits() -> None:
    states = dealt(Rules(num_players=2), 1, 0)
    GAME.abandon(states, np.zeros(1, dtype=np.int64))
    assert ahead().act(views_of(states, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))).tolist() == [GAME.wait]
    assert len(ahead().act(np.zeros(0, dtype=GAME.view_dtype))) == 0
    assert len(ahead(seconds=0.01).act(np.zeros(0, dtype=GAME.view_dtype))) == 0


def test_it_sees_what_the_next_turn_costs() -> None:
    """84 lies at the end of a full row: 85 takes it whatever the others play, and 21 fits where there is room."""
    view = table_view(hand=[21, 85], rows=[[5], [20], [60], [80, 81, 82, 83, 84]], num_players=2)
    flat = Policy(GAME, Rules(num_players=2), Flat(PLAIN).eval(), {})
    assert LookaheadAgent(flat, "flat", worlds=16).act([view]).tolist() == [20]


def test_it_weighs_what_the_policy_likes() -> None:
    views = decisions(Rules(), matches=3)
    own = policy.LearnedAgent(learned(), "own").act(views)
    assert (ahead(trust=1e6).act(views) == own).all(), "with all trust it plays the policy"
    assert (ahead(trust=0.0).act(views) != own).mean() > 0.1


class Asked(agents.Agent):
    """Remembers whom it was asked for; plays the lowest legal action."""

    def __init__(self) -> None:
        super().__init__(GAME, "asked")
        self.seen: list[NDArray[np.void]] = []

    def _act(self, views: NDArray[np.void]) -> NDArray[np.int64]:
        self.seen.append(views)
        return legal_masks(views).argmax(axis=1)


def test_the_others_are_whom_they_are_taken_for() -> None:
    model = Asked()
    view = decisions(Rules(num_players=4), matches=1)[0]
    ahead(models=[model], worlds=8).act([view])
    [seen] = model.seen
    assert len(seen) == 3 * 8
    assert set(seen["seat"].tolist()) == {0, 1, 2, 3} - {int(view["seat"])}
    assert not (seen["hand"] & view["hand"]).any(), "they hold no card of one's own"
    assert len({hand.tobytes() for hand in seen["hand"]}) > 3 * 4, "in each world other ones"


def test_more_time_is_more_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that goes on by a second for each world that is imagined."""
    now, worlds = 0.0, []

    class Clocked(LookaheadAgent):
        def _imagine(self, views: NDArray[np.void], count: int) -> Any:
            nonlocal now
            now += count
            worlds.append(count)
            return super()._imagine(views, count)

    monkeypatch.setattr("time.perf_counter", lambda: now)
    view = decisions(Rules(), matches=1)[:1]
    for seconds, expected in ((2.0, [4]), (100.0, [4, 96])):
        worlds.clear()
        Clocked(learned(), "clocked", seconds=seconds).act(view)
        assert worlds == expected


def test_values_that_are_no_costs_are_refused() -> None:
    with pytest.raises(ValueError, match="trained for the reward 'win'"):
        ahead(learned(reward="win"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("lookahead", "must end in the policy that looks ahead"),
        ("lookahead:worlds=3", "must end in the policy"),
        ("lookahead:worlds=0,of=POLICY", "worlds=0 must be a whole number from 1"),
        ("lookahead:world=3,of=POLICY", "did you mean 'worlds'"),
        ("lookahead:of=greedy", "'greedy' is no learned policy"),
        ("lookahead:of=lookahead:worlds=3,of=POLICY", "is no learned policy"),
        ("lookahead:models=self+gready,of=POLICY", "did you mean 'greedy'"),
        ("lookahead:of=POLICY-2", "there is no run folder or policy file"),
    ],
)
def test_wrong_names(spec: str, message: str, tmp_path: Path) -> None:
    policy.save(tmp_path / "p", network(PLAIN), GAME, Rules(), {})
    with pytest.raises(ValueError, match=message):
        agent_of(spec.replace("POLICY", str(tmp_path / "p")))


def test_by_name(tmp_path: Path) -> None:
    policy.save(tmp_path / "p", network(PLAIN), GAME, Rules(), {"reward_scale": 5.0})
    made = agent_of(f"lookahead:worlds=2,trust=0.5,models=self+greedy,of={tmp_path / 'p'}", seed=3)
    assert isinstance(made, LookaheadAgent)
    assert (made.worlds, made.trust, made.seed, made._scale) == (2, 0.5, 3, 5.0)
    assert isinstance(made.models[1], agents.Agent)
    view = decisions(Rules(), matches=1)[:1]
    assert legal_masks(view)[0, made.act(view)[0]]
