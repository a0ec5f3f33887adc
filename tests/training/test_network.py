"""The network: what its numbers depend on, that every weight learns, and the policy and buffer that sb3-contrib runs it with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from torch import Tensor, nn

from sixnimmt_env.games.sixnimmt import LAYOUT, Rules
from sixnimmt_env.games.sixnimmt.state import DRAFT as DRAFT_PHASE
from sixnimmt_env.games.sixnimmt.state import NUM_ACTIONS, PHASES, PICK, ROW, SIDE
from tests.training.small import ATTENTION, DRAFT, DRAFTING_ATTENTION, PLAIN, decisions, encoded, legal, mixture, network
from training.network import Shape, make
from training.ppo import DecisionBuffer, NetworkPolicy

SHAPES = pytest.mark.parametrize("shape", [PLAIN, DRAFT, Shape(hidden=5, layers=1), ATTENTION, DRAFTING_ATTENTION], ids=str)
HAND, SEATS = LAYOUT["hand"], LAYOUT["seats"]
PRESENT = HAND.indices().present


def same(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor], tolerance: float = 1e-5) -> None:
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b, atol=tolerance, rtol=tolerance)


def lines(observations: Tensor, group: str) -> Tensor:
    """The lines of a group, to be changed in place."""
    start = LAYOUT.offset(group)
    return observations[:, start : start + LAYOUT[group].size].unflatten(1, (LAYOUT[group].count, LAYOUT[group].width))


def shuffle_hand(observations: Tensor) -> None:
    hand = lines(observations, "hand")
    for game in hand:
        game[:] = game[torch.randperm(HAND.count)]


def fill_empty_slots(observations: Tensor) -> None:
    hand = lines(observations, "hand")
    empty = hand[..., PRESENT] == 0
    hand[empty] = torch.rand(int(empty.sum()), HAND.width)
    hand[..., PRESENT][empty] = 0.0


def shuffle_opponents(observations: Tensor) -> None:
    seats = lines(observations, "seats")
    seats[:, 1:] = seats[:, 1 + torch.randperm(SEATS.count - 1)]


IRRELEVANT = {"order of the hand": shuffle_hand, "content of empty slots": fill_empty_slots, "order of the opponents": shuffle_opponents}


@SHAPES
@pytest.mark.parametrize("change", IRRELEVANT.values(), ids=IRRELEVANT.keys())
def test_what_does_not_matter(shape: Shape, change: Callable[[Tensor], None]) -> None:
    observations = encoded(mixture(shape), shape)
    changed = observations.clone()
    change(changed)
    assert not torch.equal(changed, observations)
    made = network(shape)
    same(made(observations), made(changed))


@SHAPES
@pytest.mark.parametrize("group", ["context", "seats", "rows", "ladder", "hand"])
def test_what_does_matter(shape: Shape, group: str) -> None:
    views = mixture(shape)
    observations = encoded(views, shape)
    changed = observations.clone()
    table = lines(changed, group)
    keep = {"hand": [HAND.indices().card, PRESENT], "context": list(range(len(PHASES)))}.get(group, [])  # say which actions there are
    noise = torch.rand_like(table)
    noise[..., keep] = table[..., keep]
    table[:] = noise
    mask = legal(views)
    before, after = (network(shape)(each)[0][mask] for each in (observations, changed))
    assert not torch.allclose(before, after, atol=1e-4)


@SHAPES
def test_every_observation_for_itself(shape: Shape) -> None:
    observations = encoded(mixture(shape), shape)[::7]
    made = network(shape)
    alone = [made(observation[None]) for observation in observations]
    same(made(observations), (torch.cat([logits for logits, _ in alone]), torch.cat([value for _, value in alone])))


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_attention_in_parts_of_any_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    observations = encoded(mixture(ATTENTION), ATTENTION)
    made = network(ATTENTION)
    whole, dense = made(observations), made.dense(observations)
    monkeypatch.setattr("training.network.attention._PART", size)
    same(made(observations), whole)
    same(dense, whole)
    torch.testing.assert_close(made.values(observations), whole[1])


@pytest.mark.parametrize("shape", [PLAIN, ATTENTION], ids=str)
def test_play_begins_undecided(shape: Shape) -> None:
    """Whatever is seen: the first updates must not have to undo what chance has put there."""
    torch.manual_seed(0)
    views = mixture(shape)
    logits = make(shape)(encoded(views, shape))[0]
    assert logits[legal(views)].std() < 0.05


@SHAPES
def test_only_legal_actions_have_a_score(shape: Shape) -> None:
    views = mixture(shape)
    logits, values = network(shape)(encoded(views, shape))
    assert logits.shape == (len(views), NUM_ACTIONS)
    assert values.shape == (len(views),)
    mask = legal(views)
    assert (logits[mask] != 0).all()
    # While a row or a side is chosen the cards in the hand are scored as well, and every row and front; all of that gets masked.
    picks = torch.from_numpy(views["table"]["phase"] == PICK)
    assert (logits[picks][~mask[picks]] == 0).all()
    assert (logits[:, NUM_ACTIONS - 1] == 0).all()
    sizes = torch.from_numpy(views["table"]["hand_size"] - views["table"]["turn"].astype(int))[picks]
    assert set((logits[picks] != 0).sum(1).tolist()) == set(sizes.tolist()) == set(range(1, 11))


KINDS: dict[str, tuple[Rules, set[int]]] = {
    "picks": (Rules(), {PICK}),
    "rows": (Rules(num_players=6), {ROW}),
    "sides": (Rules(num_players=6, professional=True), {SIDE}),
    "rows with an empty hand": (Rules(num_players=10, hand_size=1), {ROW}),
    "draft": (Rules(num_players=3, deck="logic"), {DRAFT_PHASE}),
    "draft of a single card": (Rules(num_players=3, deck="logic", hand_size=1), {DRAFT_PHASE}),
    "none": (Rules(), set()),
}


@pytest.mark.parametrize("shape", [DRAFT, DRAFTING_ATTENTION], ids=str)
@pytest.mark.parametrize(("rules", "phases"), KINDS.values(), ids=KINDS.keys())
def test_one_kind_of_decision(rules: Rules, phases: set[int], shape: Shape) -> None:
    views = decisions(rules, matches=40)
    views = views[np.isin(views["table"]["phase"], list(phases))]
    assert len(views) > 0 or not phases
    if rules.hand_size == 1:
        assert not views["hand"].any()
    logits, values = network(shape)(encoded(views, shape))
    assert logits.shape == (len(views), NUM_ACTIONS)
    assert torch.isfinite(logits).all()
    assert torch.isfinite(values).all()
    mask = legal(views)
    assert (logits[mask] != 0).all()
    (logits[mask].sum() + values.sum()).backward()  # with nothing selected somewhere, gradients must work as well


@SHAPES
def test_every_weight_learns(shape: Shape) -> None:
    views = mixture(shape)
    assert set(views["table"]["phase"].tolist()) == {PICK, ROW, SIDE} | ({DRAFT_PHASE} if shape.draft else set())
    made = network(shape)
    logits, values = made(encoded(views, shape))
    mask = legal(views)
    chances = torch.log_softmax(logits.masked_fill(~mask, -1e8), 1)
    (chances[mask].square().mean() + values.square().mean()).backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None, name
        # One number added to all logits of the hand, or of the draft: the softmax takes it out again.
        assert name in ("card_out.bias", "draft_out.bias") or (parameter.grad != 0).any(), name


# --- the policy around it ------------------------------------------------------------------------------------------------


class Given(nn.Module):
    """Stands in for the network: its logits and values are given, line by line of the observation's first number."""

    latent_dim_pi = latent_dim_vf = 1

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        return self.logits[observations[:, 0].long()], observations[:, :1]


def policy_of(logits: Tensor | None = None, shape: Shape = PLAIN) -> NetworkPolicy:
    space = spaces.Box(0.0, 1.0, (shape.observation_size,), np.float32)
    policy = NetworkPolicy(space, spaces.Discrete(NUM_ACTIONS), lambda _: 1e-3, shape=shape)
    if logits is not None:
        policy.mlp_extractor = Given(logits)
    return policy


def random_masks(count: int) -> Tensor:
    masks = torch.rand(count, NUM_ACTIONS) < torch.rand(count, 1)
    masks[torch.arange(count)[:, None], torch.rand(count, NUM_ACTIONS).topk(2).indices] = True
    return masks


def test_as_the_distribution_of_sb3_contrib() -> None:
    torch.manual_seed(0)
    logits, masks = torch.randn(300, NUM_ACTIONS) * torch.tensor([0.1, 1.0, 30.0]).repeat(100)[:, None], random_masks(300)
    theirs = MaskableCategoricalDistribution(NUM_ACTIONS).proba_distribution(logits)
    theirs.apply_masking(masks)
    observations = torch.arange(300.0)[:, None]
    policy = policy_of(logits)
    actions, values, logs = policy.forward(observations, action_masks=masks.numpy())
    assert masks[torch.arange(300), actions].all()
    torch.testing.assert_close(values, observations)
    torch.testing.assert_close(logs, theirs.log_prob(actions))
    best, _, _ = policy.forward(observations, deterministic=True, action_masks=masks.numpy())
    assert torch.equal(best, theirs.mode())
    # The buffer hands the masks over as float32.
    _, logs, entropies = policy.evaluate_actions(observations, actions, action_masks=masks.float())
    torch.testing.assert_close(logs, theirs.log_prob(actions))
    torch.testing.assert_close(entropies, theirs.entropy())
    _, logs, entropies = policy.evaluate_actions(observations, actions)
    unmasked = MaskableCategoricalDistribution(NUM_ACTIONS).proba_distribution(logits)
    torch.testing.assert_close(logs, unmasked.log_prob(actions))
    torch.testing.assert_close(entropies, unmasked.entropy())


def test_who_has_to_wait_does_not_ask_the_network() -> None:
    torch.manual_seed(0)
    logits, masks = torch.randn(40, NUM_ACTIONS), random_masks(40)
    masks[::3] = False
    masks[::3, -1] = True
    policy = policy_of(logits)
    observations = torch.arange(40.0)[:, None]
    actions, values, logs = policy.forward(observations, action_masks=masks.numpy())
    assert (actions[::3] == NUM_ACTIONS - 1).all()
    assert (values[::3] == 0).all()
    assert (logs[::3] == 0).all()
    others = masks.sum(1) > 1
    assert masks[torch.arange(40), actions].all()
    torch.testing.assert_close(values[others], observations[others])
    assert (logs[others] < 0).all()


@pytest.mark.parametrize("noise", [1.0, 1e4, float("inf")])
def test_illegal_logits_do_not_matter(noise: float) -> None:
    torch.manual_seed(1)
    logits, masks = torch.randn(200, NUM_ACTIONS), random_masks(200)
    noisy = torch.where(masks, logits, noise * (torch.rand_like(logits) + 0.5))
    observations = torch.arange(200.0)[:, None]
    results = []
    for given in (logits, noisy):
        policy = policy_of(given)
        torch.manual_seed(2)
        actions, _, logs = policy.forward(observations, action_masks=masks.numpy())
        _, _, entropies = policy.evaluate_actions(observations, actions, action_masks=masks)
        (logs.sum() + entropies.sum()).backward()
        gradient = policy.mlp_extractor.logits.grad
        assert (gradient[~masks] == 0).all()
        results.append((actions, logs, entropies))
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


def test_samples_follow_the_masked_softmax() -> None:
    torch.manual_seed(3)
    count = 100_000
    logits = torch.linspace(-1.5, 1.5, NUM_ACTIONS)[None]
    mask = torch.zeros(1, NUM_ACTIONS, dtype=torch.bool)
    mask[0, ::12] = True  # ten actions
    actions, _, _ = policy_of(logits).forward(torch.zeros(count, 1), action_masks=mask.expand(count, -1).numpy())
    expected = count * torch.softmax(logits[mask], 0).double()
    found = torch.bincount(actions, minlength=NUM_ACTIONS)[mask[0]].double()
    assert found.sum() == count, "an illegal action was drawn"
    statistic = ((found - expected) ** 2 / expected).sum()
    assert statistic < 42.0, "chi-square with 9 degrees of freedom exceeds 42 once in 300000 times"


def test_the_rest_of_the_policy_uses_the_network() -> None:
    views = decisions(Rules())
    observations, masks = encoded(views, PLAIN), legal(views)
    policy = policy_of()
    policy.network.load_state_dict(network().state_dict())
    logits, values = policy.network(observations)
    torch.testing.assert_close(policy.predict_values(observations)[:, 0], values)
    best, _ = policy.predict(observations.numpy(), deterministic=True, action_masks=masks.numpy())
    assert best.tolist() == logits.masked_fill(~masks, -torch.inf).argmax(1).tolist()
    trained = {id(parameter) for group in policy.optimizer.param_groups for parameter in group["params"]}
    assert trained == {id(parameter) for parameter in policy.network.parameters()}


# --- the scale of what the network sees ------------------------------------------------------------------------------------


@SHAPES
def test_columns_are_scaled_to_zero_and_one(shape: Shape) -> None:
    views = mixture(shape)
    observations = encoded(views, shape)
    made = network(shape)
    made.standardise(observations)
    seen = (observations - made.middle) / made.spread
    hand = HAND.count * HAND.width
    start = LAYOUT.offset("hand")
    held = seen[:, start : start + hand].unflatten(1, (HAND.count, HAND.width))[lines(observations, "hand")[..., PRESENT] > 0]
    varies = held.std(0) > 1e-3
    assert varies.sum() > 25
    torch.testing.assert_close(held.mean(0)[varies], torch.zeros(int(varies.sum())), atol=1e-3, rtol=0)
    assert (held.std(0)[varies] <= 1.001).all()
    assert ((held.std(0)[varies] - 1.0).abs() < 1e-3).float().mean() > 0.8, "all but those that hardly vary"
    assert not varies[PRESENT]
    assert (made.spread > 0).all()
    tables = slice(LAYOUT.offset("cards"), None)
    assert (made.spread[tables] == 1).all(), "what the draft reads stays as it is"


def test_a_constant_column_stays_as_it_is() -> None:
    observations = encoded(decisions(Rules()), PLAIN)
    made = network(PLAIN)
    made.standardise(observations)
    column = LAYOUT["context"].indices().num_players
    assert (made.middle[column], made.spread[column]) == (0, 1)


# --- the buffer ----------------------------------------------------------------------------------------------------------

# (games, steps, minibatch): the sizes of the minibatches
BATCHES: dict[tuple[int, int, int | None], list[int]] = {
    (4, 6, 8): [8, 8, 8],
    (4, 6, 24): [24],
    (4, 6, None): [24],
    (5, 5, 8): [7, 6, 6, 6],
    (5, 13, 64): [33, 32],
    (3, 1, 2): [3],
    (7, 1, 2): [3, 2, 2],
    (7, 1, 1): [3, 2, 2],
    (2, 1, 2): [2],
}


@pytest.mark.parametrize(("case", "sizes"), BATCHES.items(), ids=map(str, BATCHES))
def test_buffer_yields_every_sample_once(case: tuple[int, int, int | None], sizes: list[int]) -> None:
    games, steps, minibatch = case
    total = games * steps
    buffer = DecisionBuffer(steps, spaces.Box(0.0, 1.0, (3,), np.float32), spaces.Discrete(total + 1), "cpu", n_envs=games)
    for step in range(steps):
        # Every field of a sample tells which one it is.
        number = np.arange(games, dtype=np.float32) + step * games
        buffer.add(
            np.stack([number, number, number], 1),
            number[:, None],
            number,
            np.zeros(games),
            torch.from_numpy(number),
            torch.from_numpy(number),
            action_masks=(np.arange(total + 1) == number[:, None]) | (np.arange(total + 1) == total),
        )
    buffer.compute_returns_and_advantage(torch.zeros(games), np.zeros(games))
    buffer.returns[:] = buffer.rewards
    buffer.advantages[:] = buffer.rewards
    orders = []
    for _ in range(2):
        batches = list(buffer.get(minibatch))
        assert [len(batch.actions) for batch in batches] == sizes
        for batch in batches:
            number = batch.actions[:, 0]
            assert torch.equal(batch.observations, number[:, None].expand(-1, 3))
            for field in (batch.old_values, batch.old_log_prob, batch.advantages, batch.returns):
                assert torch.equal(field, number)
            assert torch.equal(batch.action_masks[:, :total], nn.functional.one_hot(number.long(), total).float())
        order = torch.cat([batch.actions[:, 0] for batch in batches]).tolist()
        assert sorted(order) == list(range(total))
        orders.append(order)
    assert orders[0] != orders[1] or total < 4, "each epoch has an order of its own"
    assert orders[0] != sorted(orders[0]) or total < 4
