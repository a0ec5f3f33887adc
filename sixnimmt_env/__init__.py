"""Reinforcement-learning environment for 6 nimmt!: one compiled engine under every API.

`sixnimmt_env.sixnimmt_v0` holds the PettingZoo environments, `sixnimmt_env.agents` the players, `sixnimmt_env.games.sixnimmt` the rules
and functions to check a position by hand.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("sixnimmt-env")
except PackageNotFoundError:  # imported from a source tree that is not installed
    __version__ = "0+unknown"

__all__ = ["__version__"]
