"""Any Gymnasium vector environment with action masks as a stable-baselines3 VecEnv.

`MatchVecEnv` is what the project's own training uses; this is for `gymnasium.make_vec`, with its opponents, seats and options:

```python
games = gymnasium.make_vec("sixnimmt_env/SixNimmt-v0", num_envs=64, opponents=["greedy"], autoreset_mode="SameStep")
model = MaskablePPO("MlpPolicy", VecMonitor(SB3VecEnv(games)))
```
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv


class SB3VecEnv(VecEnv):
    """`env` for stable-baselines3: the vector in `observation_key` is the observation, `action_mask_key` is what `action_masks` answers.

    Only the vector is shown, since a policy for Dict observations would feed the mask to its network. Autoreset is that of `env`, in the
    same step: the observation after an episode is the next one's first, and the last one is in `infos[i]["terminal_observation"]`. Other
    infos of `env` are passed on. Wrap it in a `VecMonitor` for `infos[i]["episode"]`.

    Args:
        env: the vector environment.
        observation_key, action_mask_key: of its Dict observations.

    Raises:
        ValueError: `env` resets in another way, or its observations have no such keys.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], observation_key: str = "observation", action_mask_key: str = "action_mask") -> None:
        mode = env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise ValueError(
                f'stable-baselines3 needs autoreset mode SameStep, not {mode}: make the environment with autoreset_mode="SameStep"'
            )
        space = env.single_observation_space
        if not isinstance(space, spaces.Dict) or observation_key not in space.spaces or action_mask_key not in space.spaces:
            raise ValueError(f"observations must be a Dict with {observation_key!r} and {action_mask_key!r}, not {space}")
        self.env, self._observation, self._mask = env, observation_key, action_mask_key
        self._masks: NDArray[np.bool_] | None = None
        self._actions: NDArray[Any] = np.zeros(env.num_envs, dtype=np.int64)
        self.render_mode = env.render_mode
        super().__init__(env.num_envs, space[observation_key], env.single_action_space)

    def reset(self) -> Any:
        """Begin anew: with the seeds that `seed` gave, once, or wherever `env` goes on to."""
        seeds = self._seeds if any(seed is not None for seed in self._seeds) else None
        seen, infos = self.env.reset(seed=seeds)  # type: ignore[arg-type]  # typed as one seed, but all take one a game
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = self._split(infos)
        return self._show(seen)

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        seen, rewards, terminated, truncated, infos = self.env.step(self._actions)
        dones = terminated | truncated
        finals = infos.pop("final_obs", None)
        listed = self._split(infos)
        for i in np.flatnonzero(dones):
            listed[i]["terminal_observation"] = finals[i][self._observation]
            listed[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return self._show(seen), np.asarray(rewards, dtype=np.float32), dones, listed

    def action_masks(self) -> NDArray[np.bool_]:
        """(num_envs, actions) bool: what is legal now."""
        if self._masks is None:
            raise RuntimeError("there are no masks yet: call reset() first")
        return self._masks

    def close(self) -> None:
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        # sb3-contrib asks for "action_masks" to find out whether there are masks.
        value = getattr(self if attr_name in ("action_masks", "render_mode") else self.env, attr_name)
        return [value] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError("the environments of a vector environment have no attributes of their own to set")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(f"the environments of a vector environment have no method {method_name!r}")
        return list(self.action_masks()[list(self._get_indices(indices))])

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _show(self, seen: dict[str, NDArray[Any]]) -> NDArray[Any]:
        # Copies: not every vector environment gives arrays away, and stable-baselines3 keeps references.
        self._masks = seen[self._mask].astype(np.bool_)
        return np.array(seen[self._observation])

    def _split(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """Gymnasium's dict of arrays, each with "_key" that says whose it is, as a dict an environment."""
        listed: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for key, values in infos.items():
            there = infos.get(f"_{key}")
            if key.startswith("_") or there is None:
                continue
            part = self._split(values) if isinstance(values, dict) else values
            for i in np.flatnonzero(there):
                listed[i][key] = part[i]
        return listed
