"""Dependencies point one way, core <- games <- agents <- envs <- arena <- training, and the environment needs no training library."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGE = "sixnimmt_env"

# room of the package: rooms it may import; a room is a folder, or a file beside them
ALLOWED: dict[str, set[str]] = {
    "core": set(),
    "games": {"core"},
    "agents": {"core", "games"},
    "envs": {"core", "games", "agents"},
    "arena": {"core", "games", "agents", "envs"},
    "traces": {"core", "games", "agents", "envs", "arena"},
    "interop": {"core", "games", "agents", "envs"},
    "sixnimmt_v0": {"core", "games", "agents", "envs"},
    "nothanks_v0": {"core", "games", "agents", "envs"},
    "__init__": {"core", "games", "agents", "envs", "arena", "sixnimmt_v0", "nothanks_v0"},
}

TRAINING_ONLY = ["torch", "stable_baselines3", "sb3_contrib", "tensorboard", "matplotlib", "rich", "pydantic", "ruamel", "safetensors"]

# module: the library without which it cannot be imported, and how that is installed
OPTIONAL = {"sixnimmt_env.interop.open_spiel": ("pyspiel", "pip install open_spiel")}

# module: what it looks up by name while it runs, so that no import shows; a game is unpickled from the module that holds it
LATE = {"sixnimmt_env.core.game": ["home"]}

MODULES = sorted(
    ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__") for path in (REPOSITORY / PACKAGE).rglob("*.py")
)


def tree_of(module: str) -> ast.Module:
    path = REPOSITORY.joinpath(*module.split("."))
    return ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_bytes())


def imported(module: str, tree: ast.Module) -> Iterator[str]:
    """Every name that `module` imports, wherever in it; for `from a import b` that is a.b, a module or something in one."""
    path = REPOSITORY.joinpath(*module.split("."))
    package = module if path.is_dir() else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def late(tree: ast.Module) -> list[str]:
    """What is imported by calls, as it is written there."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "") for node in calls]
    return [ast.unparse(call.args[0]) for call, name in zip(calls, names, strict=True) if name in ("import_module", "__import__")]


def room_of(module: str) -> str:
    """The room of a module of the package."""
    return f"{module}.__init__".split(".")[1]


def forbidden(module: str, tree: ast.Module) -> list[str]:
    """What `module` imports and must not."""
    room = room_of(module)
    allowed = ALLOWED[room] | {room, "__version__"}
    outside = {"training", "tests", *TRAINING_ONLY}
    names = [
        name
        for name in imported(module, tree)
        if (top := name.split(".")[0]) in outside or (top == PACKAGE and room_of(name) not in allowed)
    ]
    return names + [name for name in late(tree) if name not in LATE.get(module, [])]


@pytest.mark.parametrize("module", MODULES)
def test_dependencies_point_one_way(module: str) -> None:
    assert room_of(module) in ALLOWED, f"say in ALLOWED what {module} may import"
    assert forbidden(module, tree_of(module)) == []


@pytest.mark.parametrize("module", LATE)
def test_late_lookups_are_still_there(module: str) -> None:
    assert late(tree_of(module)) == LATE[module]


@pytest.mark.parametrize(
    ("module", "text", "found"),
    [
        ("sixnimmt_env.core.cards", "from ..games import sixnimmt", ["sixnimmt_env.games.sixnimmt"]),
        ("sixnimmt_env.core.cards", "from .. import games", ["sixnimmt_env.games"]),
        ("sixnimmt_env.core.cards", "def f():\n    import sixnimmt_env.agents.base", ["sixnimmt_env.agents.base"]),
        ("sixnimmt_env.games.sixnimmt.rules", "from ...core.cards import has\nfrom .state import STATE\nfrom .. import get", []),
        ("sixnimmt_env.games.sixnimmt.rules", "from ...envs.aec import raw_env", ["sixnimmt_env.envs.aec.raw_env"]),
        ("sixnimmt_env.agents.base", "import torch.nn as nn, numpy", ["torch.nn"]),
        ("sixnimmt_env.agents.base", "from training.policy import load", ["training.policy.load"]),
        ("sixnimmt_env.arena.match", "from .. import sixnimmt_v0", ["sixnimmt_env.sixnimmt_v0"]),
        ("sixnimmt_env.core.game", "import importlib\nimportlib.import_module(home)", []),
        ("sixnimmt_env.core.game", "import importlib\nimportlib.import_module('numpy')", ["'numpy'"]),
        ("sixnimmt_env.core.cards", "from importlib import import_module\nimport_module(home)", ["home"]),
        ("sixnimmt_env.core.cards", "import importlib as i\ni.import_module(name + '.x')", ["name + '.x'"]),
    ],
)
def test_this_test_sees(module: str, text: str, found: list[str]) -> None:
    assert forbidden(module, ast.parse(text)) == found


BLOCKED = """
import importlib, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
for name in sys.argv[2].split(","):
    importlib.import_module(name)
    print(name)
"""


def start(blocked: list[str], modules: list[str]) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-W", "error", "-c", BLOCKED, ",".join(blocked), ",".join(modules)]
    return subprocess.run(arguments, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)


def test_no_training_library_is_needed() -> None:
    modules = [module for module in MODULES if module not in OPTIONAL]
    done = start(TRAINING_ONLY, modules)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == modules
    assert done.stderr == ""


@pytest.mark.parametrize("module", OPTIONAL)
def test_a_module_says_what_to_install_for_it(module: str) -> None:
    library, advice = OPTIONAL[module]
    last = start([library], [module]).stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {module} needs ")
    assert last.endswith(f"({library} is blocked): {advice}")


def test_blocking_blocks() -> None:
    assert "numba is blocked" in start(["numba"], ["sixnimmt_env.core.kernel"]).stderr


# --- what compiled code must not do ------------------------------------------------------------------------------------


def dangling(tree: ast.Module) -> list[str]:
    """What kernels take out of arrays that have no name: a record does not keep its array alive (see `core.kernel.kernel`)."""
    kernels = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and "kernel" in map(ast.unparse, node.decorator_list)]
    parts = [node for function in kernels for node in ast.walk(function) if isinstance(node, ast.Subscript)]
    return [ast.unparse(node) for node in parts if isinstance(node.value, ast.Call) and ast.unparse(node.value.func).startswith("np.")]


@pytest.mark.parametrize("module", MODULES)
def test_no_record_outlives_its_array(module: str) -> None:
    assert dangling(tree_of(module)) == []


def test_this_test_sees_records_without_an_array() -> None:
    text = (
        "@kernel\ndef f():\n    r = np.zeros(1, X)[0]\n    a = np.zeros(1, X)\n    return g(a[0])\ndef h():\n    return np.zeros(1, X)[0]"
    )
    assert dangling(ast.parse(text)) == ["np.zeros(1, X)[0]"]
