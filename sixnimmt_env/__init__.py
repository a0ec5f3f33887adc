"""Reinforcement-learning environment for 6 nimmt!: one compiled engine under every API.

`sixnimmt_env.sixnimmt_v0` holds the PettingZoo environments, `sixnimmt_env.agents` the players, `sixnimmt_env.games.sixnimmt` the rules
and functions to check a position by hand.
"""

from importlib.metadata import PackageNotFoundError, version

import gymnasium
import pettingzoo

try:
    __version__ = version("sixnimmt-env")
except PackageNotFoundError:  # imported from a source tree that is not installed
    __version__ = "0+unknown"

__all__ = ["__version__"]

if "sixnimmt_env/SixNimmt-v0" not in gymnasium.registry:  # a module may be imported twice, under reload
    gymnasium.register(
        id="sixnimmt_env/SixNimmt-v0",
        entry_point="sixnimmt_env.sixnimmt_v0:gym_env",
        vector_entry_point="sixnimmt_env.sixnimmt_v0:gym_vector_env",
    )
    if hasattr(pettingzoo, "register"):  # the registry came with PettingZoo 1.27
        pettingzoo.register("aec", "sixnimmt_env/sixnimmt-v0", "sixnimmt_env.sixnimmt_v0:env")
        pettingzoo.register("parallel", "sixnimmt_env/sixnimmt-v0", "sixnimmt_env.sixnimmt_v0:parallel_env")
