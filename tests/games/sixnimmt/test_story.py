"""The story of a game: the same play as the engine's, told event by event."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sixnimmt_env.games.sixnimmt import IllegalMove, Rules, engine, state, story, text, view
from tests.games.sixnimmt.playing import (
    KINDS,
    SMALL,
    VARIANTS,
    content,
    dealt,
    in_phase,
    legal_masks,
    name_of,
    random_actions,
    seats_to_act,
    views_of,
    walk_all_phases,
)
from tests.reference import heads_of

MATCHES = [Rules(num_players=3, deck=deck, professional=professional, rounds=2) for deck, professional in KINDS]


def same(one: NDArray[np.void], other: NDArray[np.void]) -> bool:
    return np.array_equal(content(one), content(other))


def told(rules: Rules, seed: int) -> list[tuple[dict[str, Any], NDArray[np.void], NDArray[np.void]]]:
    """(event, the states just before it, the states after it) of a match in random play."""
    rng, states = np.random.default_rng(seed), state.new_states(rules, 1, seed)
    found, before = [], states.copy()

    def note(event: dict[str, Any]) -> None:
        nonlocal before
        found.append((event, before, states.copy()))
        before = states.copy()

    for event in story.begin(states, 0):
        note(event)
    while (seats := np.flatnonzero(seats_to_act(states)[0])).size:
        seat = int(rng.choice(seats))
        for event in story.unfold(states, 0, seat, int(random_actions(states, rng)[0, seat])):
            note(event)
    return found


@pytest.mark.parametrize("rules", [*VARIANTS, *SMALL], ids=name_of)
def test_a_decision_told_is_a_decision_carried_out(rules: Rules) -> None:
    """After the last event the game is, bit for bit, where `commit` takes it."""
    rng = np.random.default_rng(0)
    for states in walk_all_phases(rules, 1, seed=1):
        twin = states.copy()
        for seat in rng.permutation(np.flatnonzero(seats_to_act(states)[0])).tolist():
            action = int(random_actions(twin, rng)[0, seat])
            other = twin.copy()
            engine.commit(twin, 0, seat, action)
            assert list(story.unfold(other, 0, seat, action))
            assert same(other, twin)
    begun = state.new_states(rules, 1, 1)
    assert len(list(story.begin(begun, 0))) == 1
    assert same(begun, dealt(rules, 1, 1))


@pytest.mark.parametrize("rules", [*MATCHES, *SMALL], ids=name_of)
def test_the_events_are_plain_and_tell_the_whole_game(rules: Rules) -> None:
    events = [event for event, _, _ in told(rules, 3)]
    assert json.loads(json.dumps(events)) == events
    kinds = [event["event"] for event in events]
    turns = 2 * rules.hand_size
    assert kinds[-2:] == ["round_ended", "match_ended"]
    assert kinds.count("picked") == rules.num_players * turns
    assert kinds.count("revealed") == turns
    assert kinds.count("placed") + kinds.count("took") == rules.num_players * turns
    assert kinds.count("asked") == kinds.count("chose")
    assert kinds.count("drafted") == (2 * rules.num_players * rules.hand_size if rules.deck == "logic" else 0)
    heads = np.zeros(rules.num_players, dtype=int)
    for event in events:
        if event["event"] == "took":
            assert event["heads"] == heads_of(event["cards"])
            heads[event["seat"]] += event["heads"]
        elif event["event"] in ("round_ended", "match_ended"):
            assert event["totals"] == heads.tolist()
    decisions = [kind for kind, event in zip(kinds, events, strict=True) if "action" in event]
    assert set(decisions) <= {"drafted", "picked", "chose"}


@pytest.mark.parametrize("rules", MATCHES, ids=name_of)
def test_the_state_is_as_it_lies_between_two_events(rules: Rules) -> None:
    """Cards lie in one place each, and nobody decides while cards are being placed."""
    for event, before, after in told(rules, 4):
        deciding = bool(seats_to_act(after).any())
        placing = event["event"] in ("revealed", "placed", "took", "round_ended")
        finished = int(after["table"]["placed"][0]) == rules.num_players
        all_picked = int(after["picked"][0]) == rules.num_players
        assert deciding == (not placing and not all_picked and event["event"] != "match_ended")
        assert (after["table"]["phase"][0] == state.PLACE) == placing
        assert event["event"] != "round_ended" or finished
        shown = views_of(after, [0], [0], view.reveal_all)
        assert not legal_masks(shown).any() or deciding
        for seat in range(rules.num_players):
            held = sum(int(word).bit_count() for word in after["hands"][0, seat])
            assert view.cards_held(shown[0]["table"], seat) == held
        if event["event"] in ("placed", "took"):
            rows = story.rows_of(after[0])
            assert event["card"] in rows[event["row"]]
            assert [row for row in rows if row not in story.rows_of(before[0])] == [rows[event["row"]]]


@pytest.mark.parametrize("rules", MATCHES, ids=name_of)
def test_every_event_has_its_words_and_every_row_that_is_taken_its_reason(rules: Rules) -> None:
    for seed in itertools.count():
        reasons = set()
        for event, before, _ in told(rules, seed):
            [shown] = views_of(before, [0], [0], view.reveal_all)
            words, reason = text.tell(event), text.explain(shown, event)
            assert "\n" not in reason
            assert reason.startswith(words)
            if event["event"] == "took":
                edge = re.search(r"(\d+), the (last|first) of row (\d)", reason)
                full = "that row is full with 5 cards" in reason
                assert full == (event["why"] == "full") or "equally near" in reason
                assert full == (edge is not None)
                if edge is not None:
                    assert int(edge[3]) == event["row"]
                    assert int(edge[1]) == event["cards"][-1 if edge[2] == "last" else 0]
                else:
                    assert "fits nowhere" in reason or "equally near" in reason
                reasons.add(event["why"])
        if reasons == {"full", "chosen"}:
            return


def test_words() -> None:
    """How it reads: the table just before, the event, its words and the reason."""
    rows = [[10, 20, 30, 40, 50], [12], [60], [70]]
    states = state.new_states(Rules(), 1)
    table = states["table"][0]
    for number, row in enumerate(rows):
        table["rows"][number, : len(row)], table["row_len"][number] = row, len(row)
    [shown] = views_of(states, [0], [0], view.reveal_all)
    full = {"event": "took", "seat": 2, "card": 55, "row": 0, "cards": rows[0], "heads": 11, "why": "full"}
    assert text.tell(full) == "player_2 takes row 0 (10 20 30 40 50), 11 heads; 55⁷ starts it anew"
    assert text.explain(shown, full) == (
        f"{text.tell(full)}: of the cards it may join, 50, the last of row 0, is the highest below 55, and that row is full with 5 cards"
    )
    low = {"event": "took", "seat": 0, "card": 3, "row": 1, "cards": [12], "heads": 1, "why": "chosen"}
    assert text.explain(shown, low) == (
        "player_0 takes row 1 (12), 1 head; 3¹ starts it anew: "
        "the rows end with 50 12 60 70, all above 3, so it fits nowhere and its owner takes a row"
    )


@pytest.mark.parametrize("phase", [state.PICK, state.ROW, state.SIDE, state.DRAFT])
def test_what_is_not_legal_is_refused_and_changes_nothing(phase: int) -> None:
    rules = Rules(deck="logic" if phase == state.DRAFT else "standard", professional=phase == state.SIDE)
    states = in_phase(phase, 1, rules)
    deciding = np.flatnonzero(seats_to_act(states)[0])
    masks = legal_masks(views_of(states, [0], [deciding[0]]))[0]
    for seat, action in [
        *((int(deciding[0]), int(action)) for action in np.flatnonzero(~masks)),
        *((seat, int(masks.argmax())) for seat in range(10) if seat not in deciding),
        (int(deciding[0]), -1),
        (int(deciding[0]), 113),
    ]:
        twin = states.copy()
        with pytest.raises(IllegalMove, match=f"action {action} .* is not legal for seat {seat} now"):
            story.unfold(twin, 0, seat, action)
        assert same(twin, states)
