"""Random streams: every deal and every agent's dice follow from integers, never from how play went.

A stream is a single 64-bit word, advanced by splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
Generators, OOPSLA 2014). `mix` folds further integers into a word, so that (seed, game, round) names a deal and
(agent seed, what the agent sees) names its dice: whatever else is in the batch, the numbers stay the same.

Deals are a public function of the seed. Whoever sees his hand can try seeds until one deals it, so against opponents who would do that
play with seeds from `fresh_seed`, which an environment takes when it is reset without one.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .kernel import i64, kernel

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_M1: Final = np.uint64(0xBF58476D1CE4E5B9)
_M2: Final = np.uint64(0x94D049BB133111EB)
_M3: Final = np.uint64(0xD1342543DE82EF95)
_HIDDEN: Final = np.uint64(0x5A17_0F5E_EDC0_DE55)
_S27: Final = np.uint64(27)
_S30: Final = np.uint64(30)
_S31: Final = np.uint64(31)
_S32: Final = np.uint64(32)
_LOW: Final = np.uint64(0xFFFFFFFF)

MAX_SEED: Final = 2**63 - 1


@kernel
def mix(word: Any, value: Any) -> Any:
    """Fold the integer `value` into the stream `word`; both and the result are uint64. Not symmetric in the two."""
    z = word * _M3 + np.uint64(value) + _GOLDEN
    z = (z ^ (z >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    return z ^ (z >> _S31)


@kernel
def hide(first: Any, second: Any) -> Any:
    """A uint64 of two integers that may be shown to those who must not learn them.

    `mix` is invertible step by step; what goes in is folded in a second time and combined with the first result (as Davies and Meyer make a
    one-way function of a cipher), so that there is no way back but to try all values.
    """
    once = mix(mix(_HIDDEN, first), second)
    return mix(mix(once, second), first) ^ once


@kernel
def below(word: Any, bound: int) -> tuple[Any, int]:
    """(next word, integer in 0..bound-1), by multiply and shift of the upper 32 bits (bias under bound / 2**32)."""
    word = word + _GOLDEN
    z = (word ^ (word >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    z = z ^ (z >> _S31)
    return word, i64(((z >> _S32) * np.uint64(bound)) >> _S32)


@kernel
def uniform(word: Any) -> tuple[Any, float]:
    """(next word, float in [0, 1))."""
    word = word + _GOLDEN
    z = (word ^ (word >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    z = z ^ (z >> _S31)
    return word, float(z >> np.uint64(11)) / 9007199254740992.0


def check_seed(seed: object) -> int:
    """`seed` as an int; `ValueError` unless it is a whole number from 0 to 2**63 - 1."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed <= MAX_SEED:
        raise ValueError(f"seed={seed!r} must be a whole number from 0 to {MAX_SEED}")
    return int(seed)


def fresh_seed() -> int:
    """A seed from the operating system's entropy."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
