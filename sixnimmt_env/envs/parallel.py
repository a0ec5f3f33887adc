"""The PettingZoo parallel environment of any `Game`: all seats act in every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

import numpy as np
from pettingzoo import ParallelEnv

from ..core.game import ANY_SCORED, ILLEGAL
from .table import IllegalActionError, Observation, Table, as_action, complaint

Infos = dict[str, dict[str, Any]]
_INT: Final = {int}


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
        self._vectors = np.zeros((players, game.layout.size), dtype=np.float32)
        self._due = 0  # bit s: seat s decides now
        self._chosen = np.zeros((1, game.max_seats), dtype=np.int64)
        self._choice = self._chosen[0]
        self._illegal = np.zeros(1, dtype=np.uint16)
        self._shown = list(zip(self.possible_agents, self._vectors, self._masks, strict=True))  # what each agent is shown copies of

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Copies and pickles hold arrays of their own where these were parts of others.
        self.__dict__.update(state)
        self._choice = self._chosen[0]
        self._shown = list(zip(self.possible_agents, self._vectors, self._masks, strict=True))

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
        self._due = self._look()
        self._watch()
        return self._observe()

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Let all agents act; returns observations, rewards, terminations, truncations and infos of all agents.

        Raises:
            RuntimeError: the environment was not reset, or the match is over.
            IllegalActionError: an action is illegal, and `illegal_action="raise"`; or, whatever that is, one is missing or of nobody.
                Nothing has changed.
        """
        if not self.agents:
            raise RuntimeError("no agent is left to act: call reset() before step()")
        agents = self.agents
        offenders: list[str] = []
        numbers = self._numbers(actions)
        code = self._play(numbers)
        if code == ILLEGAL:
            offenders = self._offenders_of(actions, numbers)
            code = self._forfeit(offenders) if self.illegal_action == "terminate" else self._play(numbers)
        self._due = code & ~ANY_SCORED
        over = self._due == 0
        truncated = self._cycle_ends_match() and not over
        if truncated:
            self._truncated = True
            self._masks[:] = 0
        rewards = self._rewards() if code & ANY_SCORED else dict.fromkeys(agents, 0.0)
        observations, infos = self._observe()
        for agent in offenders:
            infos[agent]["illegal_action"] = True
        if over or truncated:
            self.agents = []
        self._watch()
        return observations, rewards, dict.fromkeys(agents, over), dict.fromkeys(agents, truncated), infos

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _numbers(self, actions: dict[str, int]) -> list[int]:
        """The actions seat by seat, -1 for what is none of the game's."""
        if not isinstance(actions, Mapping) or actions.keys() != self._seats.keys():
            self._refuse_agents(actions)
        given = [actions[agent] for agent in self.agents]
        if set(map(type, given)) == _INT and min(given) >= 0 and max(given) < self.game.num_actions:
            return given
        numbers = (as_action(self.game, action) for action in given)
        return [-1 if number is None else number for number in numbers]

    def _play(self, numbers: list[int]) -> int:
        """Let all seats act, bring views, masks and vectors up to date and note what was decided; what `Game.play_all` answers."""
        self._choice[: len(numbers)] = numbers
        if self.game.play_all is not None:
            code = self.game.play_all(self._states, 0, self._choice, self._views, self._masks, self._vectors)
        elif not self._masks[self._everybody, self._choice[: len(numbers)]].all() or min(numbers) < 0:
            code = ILLEGAL
        else:
            # Waiting seats are not read; those that decide were checked, so nothing is illegal.
            self.game.step(self._states, self._index, self._chosen, self._illegal)
            code = self._look() | ANY_SCORED
        if code != ILLEGAL:
            self._decisions.append((self._due, numbers))
        return code

    def _offenders_of(self, actions: dict[str, int], numbers: list[int]) -> list[str]:
        """Whose actions are illegal; in their place goes the lowest legal one into `numbers`."""
        offenders = []
        for seat, agent in enumerate(self.agents):
            mask = self._masks[seat]
            if numbers[seat] < 0 or not mask[numbers[seat]]:
                if self.illegal_action == "raise":
                    raise IllegalActionError(complaint(self.game, agent, actions[agent], mask))
                offenders.append(agent)
                numbers[seat] = int(mask.argmax())
        return offenders

    def _forfeit(self, offenders: list[str]) -> int:
        """End the match for all because of illegal actions."""
        self.game.abandon(self._states, self._index)
        self._offenders = tuple(self._seats[agent] for agent in offenders)
        return self._look() | ANY_SCORED

    def _rewards(self) -> dict[str, float]:
        if self._offenders:  # they alone pay
            return {agent: -float(self.rules.forfeit) if seat in self._offenders else 0.0 for agent, seat in self._seats.items()}
        return {agent: float(-cost) for agent, cost in zip(self.agents, self._new_costs(), strict=True)}

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

    def _decided(self) -> tuple[tuple[int, int], ...]:
        return tuple((seat, action) for due, actions in self._decisions for seat, action in enumerate(actions) if due >> seat & 1)

    def _view_of(self, seat: int | None) -> np.void:
        asked = max(0, (self._due & -self._due).bit_length() - 1)  # the first seat when nobody decides
        view: np.void = self._views[asked if seat is None else seat]
        return view

    def _look(self) -> int:
        """Bring views, masks and vectors up to date; returns who decides, bit s for seat s."""
        if self.game.show_all is not None:
            return self.game.show_all(self._states, 0, self._views, self._masks, self._vectors)
        self.game.reveal(self._states, self._same_game, self._everybody, self._views)
        self.game.legal(self._views, self._masks)
        self.game.encode(self._views, self._vectors)
        deciding = self._views["deciding"] == 1
        due = sum(1 << seat for seat in np.flatnonzero(deciding).tolist())
        if due:
            self._masks[~deciding, self.game.wait] = 1
        return due

    def _observe(self) -> tuple[dict[str, Observation], Infos]:
        observations: dict[str, Observation] = {}
        infos: Infos = {}
        # Copies: a part of a common array would lead, by its base, to the other hands.
        for agent, vector, mask in self._shown:
            observations[agent] = {"observation": vector.copy(), "action_mask": mask.copy()}
            infos[agent] = {"action_mask": mask.copy()}
        return observations, infos
