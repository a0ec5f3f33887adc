"""What a training run saves of itself: its policy, policies as they were on the way, and checkpoints to go on from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from sixnimmt_env import games

from . import checkpoint, examiner, policy
from .budget import Budget
from .callbacks import check_weights
from .checkpoint import CheckpointError, Tree
from .config import Config
from .examiner import Best
from .metrics import Metrics
from .network import Network, of_arrays
from .ppo import Learner
from .resume import fixed, made_with


class Part(Protocol):
    """Something that the course of a training depends on."""

    def state(self) -> dict[str, Any]:
        """All that decides how it goes on: arrays, and what JSON can hold. It does not change when the part does."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state` of a part that was made alike."""


class Saver:
    """Saves a run as it goes.

    Args:
        config: the experiment.
        folder: of the run.
        model: the learner.
        budget: what is spent.
        say: told of what could not be saved.

    Attributes:
        parts: all that the run goes on from, in the order in which it is restored.
        metrics: the figures; a checkpoint that knows of a row waits until the disk has it.
    """

    def __init__(self, config: Config, folder: Path, model: Learner, budget: Budget, say: Callable[[str], None]) -> None:
        self.folder, self.model, self.budget = folder, model, budget
        self.parts: dict[str, Part] = {}
        self.metrics: Metrics | None = None
        self._config, self._say = config, say
        self._variants = [rules for rules, _ in config.all_rules()[1:]]
        self._about = {"fixed": fixed(config), "made_with": made_with(config)}
        self._remembered: Tree | None = None

    @property
    def place(self) -> Path:
        """Where checkpoints are kept."""
        return self.folder / "checkpoints"

    def remember(self) -> None:
        """Note how everything stands, between two iterations: a run that is stopped in the middle of one goes on from here."""
        state = {name: part.state() for name, part in self.parts.items()}
        self._remembered = {**self._about, "decisions": int(self.model.num_timesteps), "state": state}

    def restore(self, path: Path) -> None:
        """Put everything where the checkpoint `path` has it.

        Raises:
            CheckpointError: it cannot be read, or does not fit.
        """
        tree = checkpoint.read(path)
        try:
            for name, part in self.parts.items():
                part.restore(tree["state"][name])
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise CheckpointError(f"{path}: does not fit this run, or was made by another version: {reason}") from None

    def checkpoint(self) -> None:
        """Save what was remembered and the policy as it is now, and drop the oldest. Where that fails the training goes on: the next may
        succeed."""
        self._save_state()
        decisions = int(self.model.num_timesteps)
        try:
            self._save_policy(self.place, f"policy_{decisions:012d}", finished=False)
            for old in self._surplus(list(self.place.glob("policy_*.json")), decisions):
                old.unlink(missing_ok=True)
                old.with_suffix(".safetensors").unlink(missing_ok=True)
        except OSError as error:
            self._complain(error)

    def final(self, interrupted: bool) -> Path:
        """Save the policy that the run ends with, and what it can be gone on from.

        Raises:
            DivergedError: there is none.
            OSError: the policy cannot be saved.
        """
        check_weights(self.model)
        self._save_state()
        return self._save_policy(self.folder, policy.STEM, finished=not interrupted)

    def best(self, found: Best) -> None:
        """Save the best policy so far. Where that fails the training goes on: the checkpoints have it as well."""
        network = of_arrays(self.model.games.shape, found.network)
        about = {**self._summary(finished=False), "decisions": found.decisions, "heads": found.mean}
        try:
            self._save(self.folder, network, about, examiner.STEM)
        except OSError as error:
            self._say(f"The best policy could not be saved, the training goes on: {error.filename}: {error.strerror}")

    # --- parts -----------------------------------------------------------------------------------------------------------

    def _save_state(self) -> None:
        tree = self._remembered
        if tree is None:  # stopped before anything was done
            return
        try:
            if self.metrics is not None:
                self.metrics.sync()
            self.place.mkdir(exist_ok=True)
            checkpoint.write(checkpoint.path_of(self.place, tree["decisions"]), {**tree, "seconds": self.budget.seconds})
            for old in self._surplus(checkpoint.found(self.place), tree["decisions"]):
                old.unlink(missing_ok=True)
        except OSError as error:
            self._complain(error)

    def _surplus(self, paths: list[Path], now: int) -> list[Path]:
        """Those of `paths` that are not to be kept: the oldest, and what is of a future that has not come: its checkpoint was damaged."""
        numbered = sorted((checkpoint.decisions_of(path), path) for path in paths if path.stem.rpartition("_")[2].isdecimal())
        past = [path for decisions, path in numbered if decisions <= now]
        future = [path for decisions, path in numbered if decisions > now]
        return future + past[: -self._config.output.keep_checkpoints]

    def _complain(self, error: OSError) -> None:
        self._say(f"No checkpoint could be saved, the training goes on: {error.filename}: {error.strerror}")

    def _save_policy(self, folder: Path, stem: str, finished: bool) -> Path:
        return self._save(folder, self.model.network, self._summary(finished), stem)

    def _save(self, folder: Path, network: Network, about: dict[str, Any], stem: str) -> Path:
        game, rules = games.get(self._config.game), self._config.rules
        return policy.save(folder, network, game, rules, about, stem, self._variants)

    def _summary(self, finished: bool) -> dict[str, Any]:
        """What a policy's description says of the training."""
        return {
            "name": self._config.name,
            "seed": self._config.seed,
            "decisions": int(self.model.num_timesteps),
            "seconds": round(self.budget.seconds, 1),
            "finished": finished,
            "opponents": self._config.mixture_at(1.0),
            "reward": self._config.training.reward,
            "reward_scale": self._config.training.reward_scale,
            "made_with": f"sixnimmt-env {version('sixnimmt-env')}",
        }
