"""The PettingZoo parallel environment of any `Game`: all seats act in every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from .table import IllegalActionError, Observation, Table, as_action, complaint

Infos = dict[str, dict[str, Any]]


class ParallelGameEnv(Table, ParallelEnv[str, Observation, int]):
    """One game, played by all seats together.

    Every agent gives an action in every step. A seat that has nothing to decide, while another one chooses a row or drafts a card, has
    one legal action: wait. All agents end together, terminated when the match is over, truncated after `max_cycles`; `agents` is empty from
    then on.

    Observation: {"observation": (layout.size,) float32 in [0, 1], "action_mask": (num_actions,) int8}; the mask is also in
    `infos[agent]["action_mask"]`, and never empty before the end. All arrays are fresh and never change later.
    Action: int in 0..num_actions-1, NumPy's included; a bool is none.
    Reward: minus the cost (bull heads, points) that arose in the step.

    After an illegal action that did not raise, `infos[agent]["illegal_action"]` is True for that step. Arguments: see `Table`.
    """

    def _set_up(self) -> None:
        game, players = self.game, self.rules.num_players
        self._same_game = np.zeros(players, dtype=np.int64)
        self._everybody = np.arange(players)
        self._views = np.zeros(players, dtype=game.view_dtype)
        self._masks = np.zeros((players, game.num_actions), dtype=np.int8)
        self._due = 0  # bit s: seat s decides now
        self._chosen = np.zeros((1, game.max_seats), dtype=np.int64)
        self._illegal = np.zeros(1, dtype=np.uint16)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Observation], Infos]:
        """Deal a new match; returns observations and infos of all agents.

        Args:
            seed: whole number, 0 to 2**63 - 1: the same seed deals the same cards, here and in the AEC form. None goes on with the stream
                of the last seed (a fresh one at first): the next game of it.
            options: accepted for the convention's sake; none are known.

        Raises:
            ValueError: bad seed.
        """
        self._deal(seed)
        vectors = self._look()
        self._watch()
        return self._observe(vectors), self._infos()

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Let all agents act; returns observations, rewards, terminations, truncations and infos of all agents.

        Raises:
            RuntimeError: the environment was not reset, or the match is over.
            IllegalActionError: an action is illegal, and `illegal_action="raise"`; or, whatever that is, one is missing or of nobody.
                Nothing has changed.
        """
        if not self.agents:
            raise RuntimeError("no agent is left to act: call reset() before step()")
        offenders = self._take(actions)
        agents = self.agents
        if offenders and self.illegal_action == "terminate":
            rewards = {agent: -float(self.rules.forfeit) if agent in offenders else 0.0 for agent in agents}
            self.game.abandon(self._states, self._index)
            self._offenders = tuple(self._seats[agent] for agent in offenders)
        else:
            # Waiting seats are not read; those that decide were checked, so nothing is illegal.
            self._note()
            self.game.step(self._states, self._index, self._chosen, self._illegal)
            rewards = {agent: float(-cost) for agent, cost in zip(agents, self._new_costs(), strict=True)}
        vectors = self._look()
        over = self._due == 0
        truncated = self._cycle_ends_match() and not over
        if truncated:
            self._truncated = True
            self._masks[:] = 0
        observations, infos = self._observe(vectors), self._infos()
        for agent in offenders:
            infos[agent]["illegal_action"] = True
        if over or truncated:
            self.agents = []
        self._watch()
        return observations, rewards, dict.fromkeys(agents, over), dict.fromkeys(agents, truncated), infos

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _take(self, actions: dict[str, int]) -> list[str]:
        """Write the legal actions to `_chosen`, the lowest legal one in place of an illegal one; returns whose were illegal."""
        if not isinstance(actions, Mapping) or actions.keys() != self._seats.keys():
            self._refuse_agents(actions)
        offenders, numbers = [], []
        masks = self._masks
        for seat, agent in enumerate(self.agents):
            number = as_action(self.game, actions[agent])
            if number is None or not masks[seat, number]:
                if self.illegal_action == "raise":
                    raise IllegalActionError(complaint(self.game, agent, actions[agent], self._masks[seat]))
                offenders.append(agent)
                number = int(self._masks[seat].argmax())
            numbers.append(number)
        self._chosen[0, : len(numbers)] = numbers
        return offenders

    def _refuse_agents(self, actions: Any) -> NoReturn:
        if not isinstance(actions, Mapping):
            raise IllegalActionError(f"actions={actions!r} must be a dictionary with an action of {', '.join(self.agents)}")
        unknown = [agent for agent in actions if agent not in self._seats]
        missing = [agent for agent in self.agents if agent not in actions]
        raise IllegalActionError(
            f"actions are needed from {', '.join(self.agents)}"
            + (f"; missing: {', '.join(missing)}" if missing else "")
            + (f"; not at this table: {', '.join(map(str, unknown))}" if unknown else "")
        )

    def _note(self) -> None:
        """Keep the decisions of the seats that decide, for the record."""
        self._decisions += [(seat, action) for seat, action in enumerate(self._chosen[0].tolist()) if self._due >> seat & 1]

    def _view_of(self, seat: int | None) -> np.void:
        asked = max(0, (self._due & -self._due).bit_length() - 1)  # the first seat when nobody decides
        view: np.void = self._views[asked if seat is None else seat]
        return view

    def _look(self) -> NDArray[np.float32]:
        """Bring views, masks and `_due` up to date; returns what is observed, (players, layout.size)."""
        vectors = np.empty((len(self._views), self.game.layout.size), dtype=np.float32)
        if self.game.show_all is not None:
            self._due = self.game.show_all(self._states, 0, self._views, self._masks, vectors)
            return vectors
        self.game.reveal(self._states, self._same_game, self._everybody, self._views)
        self.game.legal(self._views, self._masks)
        self.game.encode(self._views, vectors)
        deciding = self._views["deciding"] == 1
        self._due = sum(1 << seat for seat in np.flatnonzero(deciding).tolist())
        if self._due:
            self._masks[~deciding, self.game.wait] = 1
        return vectors

    def _observe(self, vectors: NDArray[np.float32]) -> dict[str, Observation]:
        # Copies: a part of a common array would lead, by its base, to the other hands.
        return {
            agent: {"observation": vectors[seat].copy(), "action_mask": self._masks[seat].copy()}
            for seat, agent in enumerate(self.possible_agents)
        }

    def _infos(self) -> Infos:
        return {agent: {"action_mask": self._masks[seat].copy()} for seat, agent in enumerate(self.possible_agents)}
