"""Games with one seat played from outside and rule-based players in the others, from decision to decision in one call.

The same as asking the players view by view, without leaving compiled code: a step of one game costs a few microseconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.kernel import i64, kernel
from .engine import apply, check_index, decides, is_legal
from .features import NOTES
from .heuristics import decide
from .state import OVER
from .view import VIEW, reveal_to, write_legal


@kernel
def play_on(
    states: Any,
    index: Any,
    choices: Any,
    outside: Any,
    chairs: Any,
    kinds: Any,
    seeds: Any,
    skip_forced: bool,
    views: Any,
    masks: Any,
    over: Any,
    costs: Any,
    log: Any,
    logged: Any,
) -> int:
    """Play the games `index`, (k,) and distinct, on until each waits for its outside seat or is over.

    Args:
        states: (n,) STATE.
        index: (k,) int64.
        choices: (k,) int64, what the outside seats do first; -1 where they have nothing to do yet.
        outside: (n,) int64, the outside seats.
        chairs: (n, 10) int64, which player sits where.
        kinds, seeds: (players,) int64 and uint64, the players, as `heuristics.act` takes them.
        skip_forced: carry out an outside seat's only legal action without waiting for it.
        views, masks, over, costs: (n,) VIEW, (n, 113) int8, (n,) bool and (n,) int64, written for the games `index`: what the outside
            seat knows and may do, whether the match is over, and what it has cost the outside seat so far.
        log, logged: (m, 2) int64 and (1,) int64: seat and action of every decision are appended to `log` as far as it reaches.

    Returns:
        How many actions were skipped as forced; -1 - k, with nothing changed, if choice k is illegal.
    """
    check_index(states, index)
    if len(choices) != len(index):
        raise ValueError("choices must be as long as index")
    if min(len(outside), len(chairs), len(views), len(masks), len(over), len(costs)) < len(states):
        raise ValueError("outside, chairs, views, masks, over and costs must be as long as states")
    for k in range(len(index)):
        if choices[k] >= 0 and not is_legal(states[index[k]], outside[index[k]], choices[k]):
            return -1 - k
    kept, shown = np.zeros(1, NOTES), np.zeros(1, VIEW)
    forced = 0
    for k in range(len(index)):
        game = index[k]
        state, own, choice = states[game], i64(outside[game]), i64(choices[k])
        while True:
            if choice < 0 and (decides(state, own) or state.table.phase == OVER):
                reveal_to(state, own, False, views[game])
                write_legal(views[game], masks[game])
                choice = _only(masks[game]) if skip_forced else -1
                if choice < 0:
                    break
                forced += 1
            one_step(state, own, choice, chairs[game], kinds, seeds, shown[0], kept[0], log, logged)
            choice = -1
        over[game] = state.table.phase == OVER
        costs[game] = state.table.totals[own]
    return forced


@kernel
def _only(mask: Any) -> int:
    """The only legal action, -1 if there are more or none."""
    found = -1
    for action in range(len(mask)):
        if mask[action]:
            if found >= 0:
                return -1
            found = action
    return found


@kernel
def one_step(state: Any, own: int, choice: int, chairs: Any, kinds: Any, seeds: Any, view: Any, notes: Any, log: Any, logged: Any) -> None:
    """All seats that decide now act; those that pick see nothing of each other's picks, so they may do so one by one."""
    due = 0
    for seat in range(i64(state.table.num_players)):
        if decides(state, seat):
            due |= 1 << seat
    for seat in range(i64(state.table.num_players)):
        if due >> seat & 1:
            action = choice
            if seat != own:
                reveal_to(state, seat, False, view)
                action = decide(view, kinds[chairs[seat]], seeds[chairs[seat]], notes)
            if logged[0] < len(log):
                log[logged[0], 0] = seat
                log[logged[0], 1] = action
                logged[0] += 1
            apply(state, seat, action)
