"""What learns from open hands: that it sees them, that it changes what it is meant to, and that nothing of it reaches the policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from torch import Tensor

from sixnimmt_env import agents
from sixnimmt_env.core.cards import has
from sixnimmt_env.games.sixnimmt import GAME, LAYOUT, Rules
from sixnimmt_env.games.sixnimmt.features import COMPACT_SIZE
from tests.games.sixnimmt.playing import seats_to_act, views_of, walk
from tests.training.small import PLAIN, decisions, encoded
from tests.training.test_train import run, tiny
from training import checkpoint, policy, ppo
from training.budget import Budget
from training.config import SELF
from training.critic import Critic, HiddenCards
from training.network import make
from training.opened import LEFT, OTHERS, OWN, opened
from training.ppo import Learner, OpenBuffer
from training.train import environment

OPEN = ["training.critic=privileged", "training.auxiliary=0.2"]
VARIANTS = [
    Rules(),
    Rules(num_players=10),
    Rules(num_players=3, deck="tactical", professional=True),
    Rules(num_players=3, deck="logic", hand_size=4),
    Rules(num_players=2, hand_size=3, deck_size=20),
]


@pytest.mark.parametrize("rules", VARIANTS, ids=str)
def test_where_the_cards_are(rules: Rules) -> None:
    found: set[int] = set()
    for states in walk(rules, 2, 0):
        games, seats = np.nonzero(seats_to_act(states))
        shown = opened(GAME, states, games, seats)
        wanted = np.empty((len(games), COMPACT_SIZE), dtype=np.float32)
        GAME.encode(views_of(states, games, seats, GAME.reveal_all), wanted)
        assert np.array_equal(shown.observations, wanted)
        for game, seat, places in zip(games, seats, shown.cards, strict=True):
            state = states[game]
            for card in range(1, 105):
                holders = [other for other in range(rules.num_players) if has(state["hands"][other], card)]
                away = has(state["table"]["seen"], card) or card > state["table"]["highest_card"]
                place = (OWN if holders[0] == seat else OTHERS) if holders else 0 if away else LEFT
                assert places[card - 1] == place
            found |= set(places.tolist())
    assert found >= {0, OWN, OTHERS}
    dealt = rules.num_players * rules.hand_size + rules.num_rows
    assert (LEFT in found) == (rules.deck == "logic" or states["table"]["highest_card"][0] > dealt)


def learner(*overrides: str) -> Learner:
    """One that has not learned yet, with its games at their first decisions, and everything ready to learn."""
    config = tiny(*OPEN, *overrides)
    named = {spec: agents.make(spec, seed=1) for spec in config.opponents if spec != SELF}
    typical = environment(config, named, 16)[0].random_decisions(12)
    model = ppo.build(config, environment(config, named, config.training.games)[0], Budget(config.training.frames), typical)
    model.set_logger(Logger(None, []))
    model.policy.set_training_mode(False)
    return model


class Quiet(BaseCallback):
    def _on_step(self) -> bool:
        return True


def rollout(model: Learner) -> OpenBuffer:
    """What one rollout leaves in the buffer."""
    _, callback = model._setup_learn(1000, Quiet())
    buffer = model.rollout_buffer
    assert isinstance(buffer, OpenBuffer)
    assert model.collect_rollouts(model.games, callback, buffer, model.n_steps)
    return buffer


def acted(model: Learner) -> tuple[Tensor, ...]:
    """What the policy does where its games stand, by the same dice: actions, values, log-probabilities."""
    games = model.games.games
    views = views_of(games.states, games.slot_games, games.outside)
    torch.manual_seed(5)
    with torch.no_grad():
        found: tuple[Tensor, ...] = model.policy(encoded(views, PLAIN), action_masks=model.games.action_masks())
    return found


@pytest.mark.parametrize("kind", ["scorer", "attention"])
def test_the_policy_does_not_see_what_the_critic_sees(kind: str) -> None:
    model = learner(f"network={{kind: {kind}, hidden: 8}}")
    model.learn(300, callback=Quiet(), reset_num_timesteps=False)  # the usual beginning is undecided whatever it sees
    assert model.critic is not None
    games, everybody = model.games.games, model.games._all
    before, valued = acted(model), model.critic.values(model.games.with_open_hands(everybody))
    GAME.disguise(games.states, games.slot_games, games.outside, np.arange(len(games.states), dtype=np.uint64))
    for one, other in zip(before, acted(model), strict=True):
        assert torch.equal(one, other)
    again = model.critic.values(model.games.with_open_hands(everybody))
    assert (np.abs(again - valued) > 1e-4).mean() > 0.9


def test_the_buffer_keeps_each_decision_beside_its_open_form() -> None:
    """In self-play, where slots of one game wait for each other."""
    buffer = rollout(learner("opponents={self: 2, greedy: 1}", "rules={num_players: 3, professional: true}"))
    assert buffer.opened is not None
    batch = next(buffer.get(None))
    seen, shown = batch.observations.numpy(), buffer.opened
    assert len(shown.cards) == len(seen) == buffer.due.sum() < buffer.due.size
    size = PLAIN.observation_size
    order = [np.flatnonzero((buffer.observations == line[:size]).all(axis=1)) for line in seen]
    assert all(any((shown.cards[place] == line[size:]).all() for place in places) for line, places in zip(seen, order, strict=True))
    for name in ("seats", "rows"):
        columns = [number for number, column in enumerate(LAYOUT[name].columns) if "unseen" not in column.name]
        one, other = (LAYOUT.lines(each, name)[..., columns] for each in (buffer.observations, shown.observations))
        assert np.array_equal(one, other)
    held = LAYOUT["hand"].indices().card
    assert np.array_equal(LAYOUT.lines(buffer.observations, "hand")[..., held], LAYOUT.lines(shown.observations, "hand")[..., held])


def test_the_advantages_are_measured_by_the_critic() -> None:
    model = learner("training.gae_lambda=0")
    buffer = rollout(model)
    assert model.critic is not None
    assert buffer.opened is not None
    values = model.critic.values(buffer.opened)
    assert np.array_equal(buffer.values[buffer.due], values)
    # With lambda 0 the advantage is the reward and the next value, less the own; what comes after the rollout is the critic's as well.
    following = model.critic.values(model.games.with_open_hands(model.games._all))
    ends = np.asarray(model._last_episode_starts, dtype=bool)
    last = buffer.rewards[-1] + np.where(ends, 0.0, following) - buffer.values[-1]
    np.testing.assert_allclose(buffer.advantages[-1], last, atol=1e-6)
    with torch.no_grad():
        own = model.network.values(torch.from_numpy(np.concatenate(buffer._seen)))
    assert not np.allclose(own.numpy(), values)


def test_both_values_learn() -> None:
    model = learner()
    assert model.critic is not None
    heads = [model.network.value_out.weight, model.critic.network.value_out.weight, model.critic.network.places.weight]
    before = [weight.detach().clone() for weight in heads]
    model.learn(200, callback=Quiet(), reset_num_timesteps=False)
    assert not any(torch.equal(one, other) for one, other in zip(before, heads, strict=True))


def test_a_critic_learns_what_only_open_hands_tell() -> None:
    """Whose card the 55 is."""
    views = np.concatenate([decisions(Rules(), 12, seed) for seed in range(3)])
    rng = np.random.default_rng(0)
    states = np.zeros(len(views), dtype=GAME.state_dtype)
    for view, state, word in zip(views, states, rng.integers(0, 2**63, len(views), dtype=np.uint64), strict=True):
        GAME.imagine(view, word, state)
    shown = opened(GAME, states, np.arange(len(views)), views["seat"].astype(np.int64))
    returns = (shown.cards[:, 54] == OTHERS).astype(np.float32)
    torch.manual_seed(0)
    critic = Critic(PLAIN, torch.device("cpu"), 0.5)
    critic.standardise(shown)
    losses = [critic.learn(shown, returns, [rng.permutation(len(views))[:256] for _ in range(25)], 1e-2) for _ in range(6)]
    assert losses[-1] < 0.2 * returns.var()
    assert losses[-1] < losses[0]


# --- the prediction of hidden cards ----------------------------------------------------------------------------------------


def example(rules: Rules) -> tuple[Tensor, Tensor, Tensor]:
    """Summaries that need gradients, observations, and where the cards are."""
    views = decisions(rules)
    states = np.zeros(len(views), dtype=GAME.state_dtype)
    for number, view in enumerate(views):
        GAME.imagine(view, np.uint64(number), states[number])
    shown = opened(GAME, states, np.arange(len(views)), views["seat"].astype(np.int64))
    torch.manual_seed(0)
    return torch.randn(len(views), 8, requires_grad=True), encoded(views, PLAIN), torch.from_numpy(shown.cards)


def test_only_unseen_cards_count() -> None:
    summary, observations, cards = example(Rules())
    head = HiddenCards(8, 1.0)
    loss = head.loss(summary, observations, cards)
    chances = torch.sigmoid(head(summary)).double()
    sums = [
        -torch.log(chances[k, card] if cards[k, card] == OTHERS else 1.0 - chances[k, card])
        for k in range(len(cards))
        for card in range(104)
        if cards[k, card] in (OTHERS, LEFT)
    ]
    assert loss.item() == pytest.approx(torch.stack(sums).mean().item(), rel=1e-5)
    unseen = LAYOUT["context"].indices().unseen
    assert len(sums) == pytest.approx(float(observations[:, unseen].sum() * 104)), "as many as the seats are told"
    (gradient,) = torch.autograd.grad(loss, head.guess.bias)
    assert torch.equal(gradient != 0, ((cards == OTHERS) | (cards == LEFT)).any(0))


def test_open_hands_are_not_hidden() -> None:
    summary, observations, cards = example(Rules(num_players=3, deck="logic", hand_size=4))
    assert (cards == OTHERS).any()
    loss = HiddenCards(8, 1.0).loss(summary, observations, cards)
    loss.backward()
    assert loss.item() == 0.0
    assert summary.grad is not None
    assert (summary.grad == 0).all()


def test_the_loss_is_learned_beside_another() -> None:
    summary, observations, cards = example(Rules())
    head = HiddenCards(8, 0.3)
    values = summary.sum(1, keepdim=True)
    beside = head.beside(values, summary, observations, cards)
    assert torch.equal(beside, values)
    parameters = [summary, *head.parameters()]
    found = torch.autograd.grad(beside.square().mean(), parameters)
    wanted = torch.autograd.grad(values.square().mean() + 0.3 * head.loss(summary, observations, cards), parameters, materialize_grads=True)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
    assert head.take_loss() == pytest.approx(head.loss(summary, observations, cards).item())
    assert head.losses == []


def test_what_is_predicted_is_no_part_of_what_is_played() -> None:
    """The learner is told where the cards are beside what the seat sees: neither its values nor its log-probabilities depend on it."""
    model = learner()
    views = decisions(Rules())
    seen, masks = encoded(views, PLAIN), torch.from_numpy(np.random.default_rng(0).random((len(views), GAME.num_actions)) < 0.5)
    actions = masks.int().argmax(1)
    results = []
    for code in (OTHERS, LEFT):
        told = torch.cat([seen, torch.full((len(views), 104), float(code))], 1)
        results.append(model.policy.evaluate_actions(told, actions, action_masks=masks))
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)
    first, second = model.policy.hidden_cards.losses
    assert first != second
    plain = model.policy.network(seen)
    torch.testing.assert_close(results[0][0][:, 0], plain[1])


# --- what is kept ------------------------------------------------------------------------------------------------------------


def test_the_policy_holds_nothing_of_it(tmp_path: Path) -> None:
    run(tiny(*OPEN, "training.frames=384"), tmp_path)
    weights = safetensors.torch.load_file(tmp_path / "policy.safetensors")
    assert weights.keys() == make(policy.read(tmp_path).network.shape).state_dict().keys()
    state: dict[str, Any] = checkpoint.read(checkpoint.found(tmp_path / "checkpoints")[0])["state"]["learner"]
    assert {"network", "critic", "hidden_cards"} <= state.keys()
    assert {"hidden_cards.guess.weight", "hidden_cards.guess.bias"} < state["optimizer"].keys()
    assert state["critic"]["optimizer"].keys() < state["critic"]["network"].keys()
    run(tiny("training.frames=384"), tmp_path / "own")
    plain = checkpoint.read(checkpoint.found(tmp_path / "own" / "checkpoints")[0])["state"]["learner"]
    assert not {"critic", "hidden_cards"} & plain.keys()
