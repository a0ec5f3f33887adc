"""The PettingZoo AEC environment of any `Game`: simultaneous decisions as hidden sequential turns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from pettingzoo import AECEnv

from ..core.game import FINISHED, ILLEGAL, NEXT_SEAT, SCORED
from .table import IllegalActionError, Observation, Table, as_action, complaint


class AECGameEnv(Table, AECEnv[str, Observation, int]):
    """One game, played seat by seat.

    Where several seats decide at once, they are asked one after the other, in order, and nothing of what an earlier one chose can be
    seen before all have chosen. Where one seat decides, it alone is asked. All agents end together.

    The checks that PettingZoo's wrappers make (order, bounds, legality) are made here, inside `step`, and say what was wrong.

    Observation: {"observation": (layout.size,) float32 in [0, 1], "action_mask": (num_actions,) int8}; the mask is also in
    `infos[agent]["action_mask"]`, and all 0 for a seat that is not asked. All arrays are fresh and never change later.
    Action: int in 0..num_actions-1, NumPy's included; a bool is none, it is more likely a piece of a mask.
    Reward: minus the cost (bull heads, points) when it arises.

    After an illegal action that did not raise, `infos[agent]["illegal_action"]` is True until the seat acts again. Arguments: see `Table`.
    """

    def _set_up(self) -> None:
        game = self.game
        self._seat = np.zeros(1, dtype=np.int64)
        self._view = np.zeros(1, dtype=game.view_dtype)
        self._viewer = 0  # whose view that is
        self._masks = np.zeros((1, game.num_actions), dtype=np.int8)
        self._mask = self._masks[0]  # legal actions of the seat that is asked
        self._no_mask = np.zeros(game.num_actions, dtype=np.int8)
        self._rewards_are_zero = True
        self._due = 0  # bit s: seat s is still to decide in this cycle
        self.infos: dict[str, dict[str, Any]] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Copies and pickles hold two arrays where one was a part of the other.
        self.__dict__.update(state)
        self._mask = self._masks[0]

    # --- the course of a game --------------------------------------------------------------------------------------------

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new match.

        Args:
            seed: whole number, 0 to 2**63 - 1: the same seed deals the same cards. None goes on with the stream of the last seed
                (a fresh one at first): the next game of it.
            options: accepted for the convention's sake; none are known, variants are chosen when the environment is made.

        Raises:
            ValueError: bad seed.
        """
        self._deal(seed)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._rewards_are_zero = True
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"action_mask": self._no_mask.copy()} for agent in self.agents}
        self._skip_agent_selection = None
        self._due = self._deciding()
        first = (self._due & -self._due).bit_length() - 1
        self._reveal(first)
        self.game.legal(self._view, self._masks)
        self._ask(first)
        self._watch()

    def step(self, action: int | None) -> None:
        """Let `agent_selection` act; `None` for an agent that is terminated or truncated.

        Raises:
            RuntimeError: the environment was not reset, or every agent is done.
            IllegalActionError: the action is illegal and `illegal_action="raise"`. Nothing has changed.
        """
        if not self.agents:
            raise RuntimeError("no agent is left to act: call reset() before step()")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        code = self._commit(self._seats[agent], action)
        info: dict[str, Any] = {"action_mask": self._no_mask.copy()}
        if code == ILLEGAL:
            if self.illegal_action == "raise":
                raise IllegalActionError(complaint(self.game, agent, action, self._mask))
            if self.illegal_action == "terminate":
                self._forfeit(agent)
                self._watch()
                return
            code = self._commit(self._seats[agent], int(self._mask.argmax()))
            info["illegal_action"] = True
        self._viewer = code & NEXT_SEAT
        self.infos[agent] = info
        self._cumulative_rewards[agent] = 0.0
        if code & SCORED:
            self._reward()
        elif not self._rewards_are_zero:
            self.rewards = dict.fromkeys(self.agents, 0.0)
            self._rewards_are_zero = True
        if code & FINISHED:
            self._finish()
        elif self.max_cycles is not None and self._cycle_is_over(self._seats[agent]) and self._cycle_ends_match():
            self._finish(truncated=True)
        else:
            self._ask(code & NEXT_SEAT)
        self._watch()

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """(observation, or None without `observe`; reward since its last action; terminated; truncated; info) of `agent_selection`.

        Raises:
            RuntimeError: the environment was not reset, or every agent is done.
        """
        if not self.agents:
            raise RuntimeError("no agent is left to ask: call reset() before last()")
        agent = self.agent_selection
        observation = self.observe(agent) if observe else None
        return observation, self._cumulative_rewards[agent], self.terminations[agent], self.truncations[agent], self.infos[agent]

    def agent_iter(self, max_iter: int = 2**63) -> Iterable[str]:
        """Each agent that is to act, while any is left. `RuntimeError` if the environment was not reset."""
        if self._seed is None:
            raise RuntimeError("no game has begun: call reset() before agent_iter()")
        agents: Iterable[str] = super().agent_iter(max_iter)
        return agents

    def observe(self, agent: str) -> Observation:
        """What `agent` may know now, also when it is not asked or all is over; fresh arrays at every call.

        Raises:
            RuntimeError: the environment was not reset.
        """
        if self._seed is None:
            raise RuntimeError("there is nothing to observe: call reset() before observe()")
        self._view_of(self._seat_of(agent))
        game = self.game
        vector = np.empty((1, game.layout.size), dtype=np.float32)
        game.encode(self._view, vector)
        asked = self.agents and agent == self.agent_selection and not (self.terminations[agent] or self.truncations[agent])
        return {"observation": vector[0], "action_mask": (self._mask if asked else self._no_mask).copy()}

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _commit(self, seat: int, action: Any) -> int:
        """Let `seat` act; ILLEGAL, with nothing changed, for anything that is no legal action."""
        number = as_action(self.game, action)
        if number is None:
            return ILLEGAL
        code = self.game.commit(self._states, 0, seat, number, self._view, self._masks)
        if code != ILLEGAL:
            self._decisions.append((seat, number))
        return code

    def _decided(self) -> tuple[tuple[int, int], ...]:
        return tuple(self._decisions)

    def _deciding(self) -> int:
        """Bit s is set when seat s decides now."""
        seats = np.zeros(1, dtype=np.uint16)
        self.game.to_act(self._states, self._index, seats)
        return int(seats[0])

    def _cycle_is_over(self, seat: int) -> bool:
        """Whether `seat` was the last to decide in this cycle; then the next one begins."""
        self._due &= ~(1 << seat)
        if self._due:
            return False
        self._due = self._deciding()
        return True

    def _view_of(self, seat: int | None) -> np.void:
        """The view of `seat`: it is there already, unless somebody who is not asked wants to look."""
        seat = self._seats[self.agent_selection] if seat is None else seat
        if self._viewer != seat:
            self._reveal(seat)
        view: np.void = self._view[0]
        return view

    def _reveal(self, seat: int) -> None:
        self._seat[0] = self._viewer = seat
        self.game.reveal(self._states, self._index, self._seat, self._view)

    def _ask(self, seat: int) -> None:
        """Ask `seat`, whose legal actions are in `_mask`, next."""
        agent = self.possible_agents[seat]
        self.agent_selection = agent
        self.infos[agent] = {**self.infos[agent], "action_mask": self._mask.copy()}  # somebody may hold the one before

    def _reward(self) -> None:
        self.rewards = {}
        for agent, cost in zip(self.possible_agents, self._new_costs(), strict=True):
            self.rewards[agent] = float(-cost)
            self._cumulative_rewards[agent] -= cost
        self._rewards_are_zero = False

    def _finish(self, truncated: bool = False) -> None:
        """End the match for all."""
        if truncated:
            self._truncated = True
            self.truncations = dict.fromkeys(self.agents, True)
        else:
            self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = self.agents[0]

    def _forfeit(self, offender: str) -> None:
        """End the match for all because of an illegal action."""
        self.game.abandon(self._states, self._index)
        self._offenders = (self._seats[offender],)
        self._reveal(self._seats[offender])
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.rewards[offender] = -float(self.rules.forfeit)
        self._cumulative_rewards[offender] = self.rewards[offender]
        self.infos = {agent: {"action_mask": self._no_mask.copy()} for agent in self.agents}
        self.infos[offender]["illegal_action"] = True
        self._finish()
