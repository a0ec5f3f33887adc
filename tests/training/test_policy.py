"""Saved policies: what comes back, what is refused and how it is said, and that neither a full disk nor a stranger's file does harm."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from sixnimmt_env import agents
from sixnimmt_env.agents import Agent
from sixnimmt_env.arena import against_field
from sixnimmt_env.core.files import TEMP_SUFFIX
from sixnimmt_env.games.sixnimmt import GAME, Rules
from tests.training.small import ATTENTION, DRAFT, DRAFTING_ATTENTION, PLAIN, decisions, encoded, legal, mixture, network
from training import policy
from training.network import Shape
from training.policy import PolicyError

About = dict[str, Any]
TRAINING = {"name": "test", "decisions": 12, "seconds": 0.5}
SHAPES = pytest.mark.parametrize("shape", [PLAIN, DRAFT, Shape(), Shape(hidden=1, layers=1), ATTENTION, DRAFTING_ATTENTION], ids=str)


def save(folder: Path, seed: int = 0, shape: Shape = PLAIN, rules: Rules | None = None, stem: str = "policy") -> Path:
    return policy.save(folder, network(shape, seed), GAME, rules or Rules(), TRAINING, stem)


def numbers(path: Path) -> list[bytes]:
    return [tensor.numpy().tobytes() for tensor in policy.read(path).network.state_dict().values()]


def refusal(path: Path) -> str:
    with pytest.raises(PolicyError) as caught:
        policy.load(path)
    return str(caught.value)


@SHAPES
def test_the_same_again(tmp_path: Path, shape: Shape) -> None:
    rules = Rules(num_players=7, deck="logic", professional=True, rounds=None, target=40, hand_size=6)
    scorer = network(shape)
    others = Rules(num_players=2), Rules(deck="tactical")
    path = policy.save(tmp_path, scorer, GAME, rules, TRAINING, variants=others)
    assert sorted(os.listdir(tmp_path)) == ["policy.json", "policy.safetensors"]
    assert path == tmp_path / "policy.safetensors"
    found = policy.read(path)
    assert (found.game, found.rules, found.training, found.network.shape) == (GAME, rules, TRAINING, shape)
    assert found.variants == others
    assert not found.network.training
    for (name, saved), (other, read) in zip(scorer.state_dict().items(), found.network.state_dict().items(), strict=True):
        assert (name, saved.dtype) == (other, read.dtype)
        assert torch.equal(saved, read)
    views = mixture(shape)
    seen = encoded(views, shape)
    with torch.no_grad():
        assert torch.equal(scorer(seen)[0], found.network(seen)[0])
    best = scorer(seen)[0].masked_fill(~legal(views), -torch.inf).argmax(1)
    assert policy.load(path).act(views).tolist() == best.tolist()


def test_equal_play(tmp_path: Path) -> None:
    agent = policy.load(save(tmp_path))
    assert agent.name == f"policy:{tmp_path / 'policy.safetensors'}"
    field = agents.make("random")
    before = against_field(GAME, Rules(), agent, field, 200)
    agent.reset(99)  # argmax has no dice
    after = against_field(GAME, Rules(), agents.make(f"policy:{tmp_path}"), field, 200)
    assert (before.mean, before.win_share, before.illegal) == (after.mean, after.win_share, 0)


def test_seats_that_do_not_decide_wait(tmp_path: Path) -> None:
    views = decisions(Rules())
    views["deciding"][::2] = 0
    actions = policy.load(save(tmp_path)).act(views)
    assert (actions[::2] == GAME.wait).all()
    assert (actions[1::2] != GAME.wait).all()


def test_large_batches_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent, views = policy.load(save(tmp_path)), decisions(Rules())
    whole = agent.act(views)
    monkeypatch.setattr(policy, "_BATCH", 7)
    assert agent.act(views).tolist() == whole.tolist()


@pytest.mark.parametrize(("inner", "outer"), [(1e30, 1e30), (1e30, -1e30), (3e38, -3e38)])
def test_overflowing_weights_still_play_legally(tmp_path: Path, inner: float, outer: float) -> None:
    scorer = network()
    with torch.no_grad():
        for name, parameter in scorer.named_parameters():
            parameter.fill_(outer if name in ("card_out.weight", "row_out.weight") else inner)
    policy.save(tmp_path, scorer, GAME, Rules(), {})
    views = decisions(Rules(num_players=6, professional=True))
    mask = legal(views)
    assert not torch.isfinite(scorer(encoded(views, PLAIN))[0][mask]).any()
    actions = policy.load(tmp_path).act(views)
    assert mask[torch.arange(len(views)), torch.from_numpy(actions)].all()


@pytest.mark.parametrize("name", ["", "policy", "policy.json", "policy.safetensors"])
def test_any_of_its_names(tmp_path: Path, name: str) -> None:
    save(tmp_path)
    assert policy.read(tmp_path / name).training == TRAINING


@pytest.mark.parametrize("stem", ["v1.5", "a b", "policy_000000000012", "µ"])
def test_any_stem(tmp_path: Path, stem: str) -> None:
    path = save(tmp_path, stem=stem)
    assert numbers(path) == numbers(tmp_path / stem) == numbers(tmp_path / f"{stem}.json")


def test_a_renamed_or_linked_pair_is_still_one(tmp_path: Path) -> None:
    weights = save(tmp_path / "a")
    (tmp_path / "other.safetensors").symlink_to(weights)
    (tmp_path / "other.json").write_bytes(weights.with_suffix(".json").read_bytes())
    assert numbers(tmp_path / "other") == numbers(weights)


def test_saving_weights_that_are_no_numbers(tmp_path: Path) -> None:
    save(tmp_path)
    before = numbers(tmp_path)
    scorer = network()
    with torch.no_grad():
        scorer.card_out.bias.fill_(torch.nan)
    with pytest.raises(PolicyError, match="no numbers: the training has diverged"):
        policy.save(tmp_path, scorer, GAME, Rules(), {})
    assert numbers(tmp_path) == before


# --- files that are no policy --------------------------------------------------------------------------------------------


def edit(folder: Path, change: Callable[[About], Any]) -> None:
    """Change the description; what `change` returns, if anything, is put in its place."""
    path = folder / "policy.json"
    about = json.loads(path.read_text())
    changed = change(about)
    path.write_text(json.dumps(about if changed is None else changed))


def sign(folder: Path, weights: bytes) -> None:
    """Put other weights in place, and a description that vouches for them."""
    (folder / "policy.safetensors").write_bytes(weights)
    vouch = {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()}
    edit(folder, lambda about: about.update(weights=vouch))


def reweigh(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Change the tensors, and vouch for them."""
    tensors = {name: tensor.clone() for name, tensor in network().state_dict().items()}
    change(tensors)
    sign(folder, safetensors.torch.save(tensors))


def setter(*path: str, value: Any) -> Callable[[Path], None]:
    """Set one place of the description."""

    def change(about: About) -> None:
        for key in path[:-1]:
            about = about[key]
        about[path[-1]] = value

    return lambda folder: edit(folder, change)


def flip(folder: Path, name: str, place: int) -> None:
    content = bytearray((folder / name).read_bytes())
    content[place] ^= 1
    (folder / name).write_bytes(content)


def header(text: str, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode() + data


def swap_for_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


ABOUT, WEIGHTS = "policy.json", "policy.safetensors"

# name: (what is done to a sound pair, the file that is blamed, a piece of the message)
DAMAGE: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "no description": (lambda f: (f / ABOUT).unlink(), ABOUT, "does not exist; a policy is a .safetensors and a .json file"),
    "no weights": (lambda f: (f / WEIGHTS).unlink(), WEIGHTS, "does not exist"),
    "folder for the description": (lambda f: swap_for_folder(f / ABOUT), ABOUT, "is no plain file"),
    "folder for the weights": (lambda f: swap_for_folder(f / WEIGHTS), WEIGHTS, "is no plain file"),
    "description links to itself": (lambda f: loop(f / ABOUT), ABOUT, "is no plain file"),
    "weights link to themselves": (lambda f: loop(f / WEIGHTS), WEIGHTS, "is no plain file"),
    "truncated weights": (
        lambda f: os.truncate(f / WEIGHTS, 1000),
        WEIGHTS,
        "damaged, or not the weights that policy.json describes (1000 of ",
    ),
    "empty weights": (lambda f: os.truncate(f / WEIGHTS, 0), WEIGHTS, "damaged"),
    "flipped bit in the weights": (lambda f: flip(f, WEIGHTS, 3000), WEIGHTS, "(its checksum differs)"),
    "flipped bit in the header": (lambda f: flip(f, WEIGHTS, 20), WEIGHTS, "(its checksum differs)"),
    "weights of another policy": (lambda f: (f / WEIGHTS).write_bytes(save(f / "x", 1).read_bytes()), WEIGHTS, "(its checksum differs)"),
    "huge weights": (lambda f: os.truncate(f / WEIGHTS, 2**27), WEIGHTS, "is larger than 64 MiB"),
    "truncated description": (lambda f: os.truncate(f / ABOUT, 100), ABOUT, "is no JSON"),
    "empty description": (lambda f: os.truncate(f / ABOUT, 0), ABOUT, "is no JSON"),
    "huge description": (lambda f: os.truncate(f / ABOUT, 2**22), ABOUT, "is larger than 1 MiB"),
    "deep description": (lambda f: (f / ABOUT).write_text("[" * 200_000), ABOUT, "is nested too deeply"),
    "deep mapping": (lambda f: (f / ABOUT).write_text('{"a":' * 100_000), ABOUT, "is nested too deeply"),
    "endless number": (lambda f: (f / ABOUT).write_text("9" * 10_000), ABOUT, "is no JSON"),
    "no JSON": (lambda f: (f / ABOUT).write_text("game: sixnimmt"), ABOUT, "is no JSON"),
    "no text": (lambda f: (f / ABOUT).write_bytes(b"\xff\xfe\x00{}"), ABOUT, "is no JSON"),
    "a pickle": (lambda f: (f / ABOUT).write_bytes(pickle.dumps({})), ABOUT, "is no JSON"),
    "a list": (lambda f: edit(f, lambda about: [about]), ABOUT, "is not the description of a policy"),
    "a number": (lambda f: (f / ABOUT).write_text("1"), ABOUT, "is not the description of a policy"),
    "another format": (setter("format", value="sixnimmt_env run"), ABOUT, 'its "format" would be "sixnimmt_env policy"'),
    "version to come": (setter("version", value=2), ABOUT, "is version 2 of the format, this program reads version 1"),
    "version true": (setter("version", value=True), ABOUT, "is version True"),
    "version as text": (setter("version", value="1"), ABOUT, "is version '1'"),
    "other layout": (setter("layout", value=0), ABOUT, f"layout 0 of sixnimmt, this program has layout {GAME.layout.version}: train it"),
    "layout true": (setter("layout", value=True), ABOUT, "'layout' is missing or no int"),
    "other game": (setter("game", value="nothanks!"), ABOUT, "game 'nothanks!' is unknown"),
    "game as number": (setter("game", value=6), ABOUT, "'game' is missing or no str"),
    "no rules": (lambda f: edit(f, lambda about: about.pop("rules") and None), ABOUT, "'rules' is missing or no dict"),
    "impossible rules": (setter("rules", "num_players", value=11), ABOUT, "num_players=11 must be a whole number from 2 to 10"),
    "rules that clash": (setter("rules", "target", value=66), ABOUT, "rounds=1 and target=66 exclude each other"),
    "rules with lists": (setter("rules", "deck", value=["standard"]), ABOUT, "deck=['standard'] is unknown"),
    "players as text": (setter("rules", "num_players", value="4"), ABOUT, "num_players='4' must be"),
    "infinite players": (setter("rules", "num_players", value=float("inf")), ABOUT, "num_players=inf must be"),
    "unknown rule": (setter("rules", "\x1b[2J", value=1), ABOUT, r"rules '\x1b[2J' is unknown: there are num_players, deck"),
    "variants as a dict": (setter("variants", value={}), ABOUT, "'variants' is no list of at most 1000 dicts"),
    "a variant as text": (setter("variants", value=["logic"]), ABOUT, "'variants' is no list of at most 1000 dicts"),
    "more variants than there are": (setter("variants", value=[{}] * 1001), ABOUT, "'variants' is no list of at most 1000 dicts"),
    "an impossible variant": (setter("variants", value=[{"num_players": 1}]), ABOUT, "num_players=1 must be a whole number from 2 to 10"),
    "no training": (setter("training", value=None), ABOUT, "'training' is missing or no dict"),
    "other network": (
        setter("network", "kind", value="transformer"),
        ABOUT,
        "network kind 'transformer' is unknown: this program knows 'scorer' and 'attention'",
    ),
    "kind that is no word": (setter("network", "kind", value=["scorer"]), ABOUT, "network kind ['scorer'] is unknown"),
    "unknown size": (setter("network", "heads", value=4), ABOUT, "network 'heads' is unknown: there are kind, hidden, layers, draft"),
    "missing heads": (setter("network", "kind", value="attention"), ABOUT, "network heads: missing"),
    "heads that do not fit": (
        setter("network", value={**ATTENTION.as_dict(), "heads": 3}),
        ABOUT,
        "network heads=3 must divide hidden=8: 1, 2, 4, 8",
    ),
    "heads by the million": (
        setter("network", value={**ATTENTION.as_dict(), "heads": 10**6}),
        ABOUT,
        "network heads=1000000 must be a whole number from 1 to 64",
    ),
    "weights of another kind": (setter("network", value=ATTENTION.as_dict()), WEIGHTS, "the network that its description names has none"),
    "missing size": (lambda f: edit(f, lambda about: about["network"].pop("hidden") and None), ABOUT, "network hidden: missing"),
    "no units": (setter("network", "hidden", value=0), ABOUT, "network hidden=0 must be a whole number from 1 to 1024"),
    "negative units": (setter("network", "hidden", value=-8), ABOUT, "network hidden=-8 must be"),
    "too many units": (setter("network", "hidden", value=10**12), ABOUT, "network hidden=1000000000000 must be"),
    "half a unit": (setter("network", "hidden", value=8.0), ABOUT, "network hidden=8.0 must be"),
    "units true": (setter("network", "hidden", value=True), ABOUT, "network hidden=True must be"),
    "too many layers": (setter("network", "layers", value=17), ABOUT, "network layers=17 must be a whole number from 1 to 8"),
    "draft as a number": (setter("network", "draft", value=0), ABOUT, "network draft=0 must be true or false"),
    "wider than the weights": (
        setter("network", "hidden", value=1024),
        WEIGHTS,
        "float32[8], the network that its description names has float32[1024]",
    ),
    "deeper than the weights": (
        setter("network", "layers", value=8),
        WEIGHTS,
        "is missing, the network that its description names has float32[8]",
    ),
    "draft without weights": (setter("network", "draft", value=True), WEIGHTS, "'draft_in.bias' is missing"),
    "no checksum": (setter("weights", value={}), WEIGHTS, "damaged"),
    "checksum a list": (setter("weights", "sha256", value=[]), WEIGHTS, "damaged"),
    "weights a list": (setter("weights", value=[]), ABOUT, "'weights' is missing or no dict"),
    "replaces nonsense": (lambda f: (setter("replaces", value={"weights": 3})(f), flip(f, WEIGHTS, 3000)), WEIGHTS, "damaged"),
    "missing tensor": (lambda f: reweigh(f, lambda t: t.pop("value_out.bias")), WEIGHTS, "'value_out.bias' is missing"),
    "tensor too many": (
        lambda f: reweigh(f, lambda t: t.update(x=torch.zeros(2))),
        WEIGHTS,
        "'x' is float32[2], the network that its description names has none",
    ),
    "renamed tensor": (lambda f: reweigh(f, lambda t: t.update(y=t.pop("value_out.bias"))), WEIGHTS, "'value_out.bias' is missing"),
    "other numbers": (lambda f: reweigh(f, lambda t: t.update({"value_out.bias": t["value_out.bias"].double()})), WEIGHTS, "is float64[1]"),
    "other shape": (lambda f: reweigh(f, lambda t: t.update({"value_out.bias": torch.zeros(1, 1)})), WEIGHTS, "is float32[1, 1]"),
    "nan": (lambda f: reweigh(f, lambda t: t["row_mix.weight"][3, 4].fill_(torch.nan)), WEIGHTS, "the weights are no numbers"),
    "infinity": (lambda f: reweigh(f, lambda t: t["row_mix.weight"][3, 4].fill_(-torch.inf)), WEIGHTS, "the weights are no numbers"),
    "no safetensors": (lambda f: sign(f, b"weights"), WEIGHTS, "is no safetensors file"),
    "nothing, vouched for": (lambda f: sign(f, b""), WEIGHTS, "is no safetensors file"),
    "endless header": (lambda f: sign(f, struct.pack("<Q", 2**63) + b"{}"), WEIGHTS, "is no safetensors file"),
    "header no JSON": (lambda f: sign(f, header("[" * 100_000)), WEIGHTS, "is no safetensors file"),
    "data outside": (
        lambda f: sign(f, header('{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}', b"1234")),
        WEIGHTS,
        "is no safetensors file",
    ),
    "size that overflows": (
        lambda f: sign(f, header('{"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,0]}}')),
        WEIGHTS,
        "is no safetensors file",
    ),
    "other type of numbers": (
        lambda f: sign(f, header('{"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}', b"1")),
        WEIGHTS,
        "policy.safetensors: ",
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("damage", "blamed", "piece"), DAMAGE.values(), ids=DAMAGE.keys())
def test_no_policy(tmp_path: Path, damage: Callable[[Path], Any], blamed: str, piece: str) -> None:
    save(tmp_path)
    damage(tmp_path)
    message = refusal(tmp_path)
    assert message.startswith(f"{tmp_path / blamed}: "), message
    assert piece in message
    assert len(message.splitlines()) == 1
    # The same through the agents' door, whose users know nothing of files.
    with pytest.raises(ValueError, match="policy"):
        agents.make(f"policy:{tmp_path}")


@pytest.mark.parametrize(
    "path", ["nowhere", "x" * 5000, "a\0b", "policy.json/policy"], ids=["missing", "long", "null byte", "below a file"]
)
def test_no_path(tmp_path: Path, path: str) -> None:
    save(tmp_path)
    assert refusal(tmp_path / path).startswith(f"{tmp_path / path}")


@pytest.mark.parametrize("name", [ABOUT, WEIGHTS])
def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    save(tmp_path)
    opened = Path.open

    def refuse(path: Path, *arguments: Any) -> Any:
        if path.name == name:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *arguments)

    monkeypatch.setattr(Path, "open", refuse)
    assert refusal(tmp_path) == f"{tmp_path / name}: cannot be read: Permission denied"


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, tuple[Path, str]]:
        return Path.write_text, (self.marker, "boom")


@pytest.mark.parametrize("vouched", [False, True])
@pytest.mark.parametrize("kind", ["pickle", "torch"])
def test_nothing_in_a_file_is_run(tmp_path: Path, kind: str, vouched: bool) -> None:
    folder, marker = tmp_path / "policy", tmp_path / "marker"
    save(folder)
    bomb = tmp_path / "bomb"
    if kind == "torch":
        torch.save({"card_out.bias": Bomb(marker)}, bomb)
    else:
        bomb.write_bytes(pickle.dumps(Bomb(marker)))
    pickle.loads(pickle.dumps(Bomb(marker)))
    assert marker.read_text() == "boom", "the bomb works"
    marker.unlink()
    if vouched:
        sign(folder, bomb.read_bytes())
    else:
        (folder / WEIGHTS).write_bytes(bomb.read_bytes())
    refusal(folder)
    assert not marker.exists()


@pytest.mark.parametrize("file", ["../other/policy.safetensors", "/etc/passwd", "policy.safetensors\n", 7, None])
def test_a_description_cannot_point_elsewhere(tmp_path: Path, file: object) -> None:
    own = numbers(save(tmp_path / "policy"))
    save(tmp_path / "other", seed=1)
    edit(tmp_path / "policy", lambda about: about["weights"].update(file=file))
    assert numbers(tmp_path / "policy") == own


def test_random_damage(tmp_path: Path) -> None:
    """Whatever happens to the files, vouched for or not: a policy error, or a policy."""
    rng = np.random.default_rng(0)
    save(tmp_path, shape=Shape(hidden=2, layers=1))
    sound = {name: (tmp_path / name).read_bytes() for name in (ABOUT, WEIGHTS)}
    before = numbers(tmp_path)
    messages, loaded = [], 0
    for round_ in range(300):
        vouched = round_ % 2 == 1
        name = WEIGHTS if vouched or rng.random() < 0.3 else ABOUT
        for each, content in sound.items():
            (tmp_path / each).write_bytes(content)
        content = mutated(sound[name], rng)
        if vouched:
            sign(tmp_path, content)
        else:
            (tmp_path / name).write_bytes(content)
        try:
            found = numbers(tmp_path)
        except PolicyError as error:
            messages.append(str(error))
        else:
            loaded += 1
            assert vouched or found == before, "weights that nobody vouched for"
    assert all(message.startswith(str(tmp_path)) for message in messages)
    assert len(messages) > 100
    assert loaded > 10


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """`content` with a random part changed, dropped, doubled or replaced."""
    start = int(rng.integers(len(content))) if rng.random() < 0.5 else int(rng.integers(min(400, len(content))))
    end = min(len(content), start + int(rng.integers(1, 9)))
    part = content[start:end]
    middle = [bytes(rng.integers(256, size=len(part), dtype=np.uint8)), b"", part + part, b"9" * len(part), part[::-1]][rng.integers(5)]
    return content[:start] + middle + (content[end:] if rng.random() < 0.9 else b"")


# --- full disks ----------------------------------------------------------------------------------------------------------


def break_at(monkeypatch: pytest.MonkeyPatch, function: str, calls: set[int]) -> Callable[[], int]:
    """Let the calls of `os.function` with these numbers fail as on a full disk; tells how many there were."""
    real, count = getattr(os, function), 0

    def call(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count in calls:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(os, function, call)
    return lambda: count


@pytest.mark.parametrize("function", ["fsync", "replace"])
@pytest.mark.parametrize("there_before", [True, False], ids=["over an old one", "first"])
def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, there_before: bool) -> None:
    """Whichever step fails, the old policy is there or the new one, whole; and what failed can be done again."""
    with monkeypatch.context() as patch:
        count = break_at(patch, function, set())
        save(tmp_path / "count", seed=0)
        save(tmp_path / "count", seed=1)
        steps = count()
    new = numbers(save(tmp_path / "new", seed=1))
    blamed = set()
    for step in range(1, steps + 1):
        folder = tmp_path / str(step)
        old = numbers(save(folder, seed=0, rules=Rules(num_players=3))) if there_before else None
        with monkeypatch.context() as patch:
            break_at(patch, function, {step})
            try:
                save(folder, seed=1)
            except OSError as error:
                failed = error.filename
            else:
                failed = ""
        assert not [name for name in os.listdir(folder) if name.endswith(TEMP_SUFFIX)]
        if not failed:
            assert numbers(folder) == new
            continue
        blamed.add(Path(failed).relative_to(folder).name)
        if old is not None:
            assert numbers(folder) == old
            assert policy.read(folder).rules.num_players == 3
        else:
            assert os.listdir(folder) == [], "half a policy"
        assert numbers(save(folder, seed=1)) == new
        assert "replaces" not in json.loads((folder / ABOUT).read_text())
    assert blamed == {ABOUT, WEIGHTS}


def test_a_disk_that_stays_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failing at the weights again and again never loses the policy that is there."""
    old = numbers(save(tmp_path, seed=0))
    for seed in range(1, 4):
        with monkeypatch.context() as patch:
            break_at(patch, "replace", {2})
            with pytest.raises(OSError, match="No space left"):
                save(tmp_path, seed=seed)
        assert numbers(tmp_path) == old
    assert policy.load(tmp_path).policy.training == TRAINING


def test_old_descriptions_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last step of saving only tidies up; failing there again and again does no harm either."""
    save(tmp_path, seed=0)
    for seed in range(1, 4):
        with monkeypatch.context() as patch:
            break_at(patch, "replace", {3})
            save(tmp_path, seed=seed)
        assert numbers(tmp_path) == numbers(save(tmp_path / "same", seed=seed))
        assert "replaces" not in json.loads((tmp_path / ABOUT).read_text())["replaces"]


def test_agent_is_an_agent(tmp_path: Path) -> None:
    agent = policy.load(save(tmp_path))
    assert isinstance(agent, Agent)
    with pytest.raises(TypeError, match="agents of sixnimmt take views"):
        agent.act(np.zeros(3))
