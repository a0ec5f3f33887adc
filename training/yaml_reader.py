"""YAML for settings: text to a tree that knows where each value was written, and back to text with comments.

Everything that is wrong is collected, so that it can be reported at once. The reader can be given a stranger's file: what settings do
not need and what can do harm (anchors, tags, depth, size) is refused.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

KeyPath: TypeAlias = tuple[str, ...]
Scalar: TypeAlias = str | int | float | bool | None

MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 12
MAX_PIECES: Final = 10_000  # of YAML: a complete configuration has some 200, and the reader takes a minute for a full megabyte
MAX_PROBLEMS: Final = 50

# Words that older YAML readers take for truth values are quoted, so that other tools read the file alike.
_WORDS: Final = frozenset({"true", "false", "null", "on", "off", "yes", "no", "y", "n"})


@dataclass(frozen=True)
class Where:
    """A place: a line of a file, or an override, which has set `path`."""

    source: str = ""
    line: int = 0
    path: KeyPath | None = None

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source

    def at(self, node: Node | Event) -> Where:
        """The place of `node` in this source; an override is one place."""
        return self if self.path is not None else Where(self.source, node.start_mark.line + 1)


@dataclass(frozen=True)
class Tree:
    """A value with where it was written (for a mapping's entry: where its key is)."""

    where: Where = field(default_factory=Where)
    value: Scalar | dict[str, Tree] | list[Tree] = field(default_factory=dict)

    def plain(self) -> Any:
        """The value without its places."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def find(self, path: KeyPath) -> tuple[KeyPath, Tree]:
        """The part of `path` that was written, and what is there."""
        node = self
        for depth, key in enumerate(path):
            children = node.value
            if isinstance(children, list):
                children = {str(index): child for index, child in enumerate(children)}
            if not isinstance(children, dict) or key not in children:
                return path[:depth], node
            node = children[key]
        return path, node

    def written_path(self, path: KeyPath) -> KeyPath:
        """`path`, or the part of it that holds a single value for all below: a constant that stands for a schedule."""
        found, node = self.find(path)
        return path if isinstance(node.value, (dict, list)) else found

    def placed(self, fault: Fault) -> tuple[Where, str]:
        """The place of a fault, and the fault in words."""
        node = self.find(fault.path)[1]
        path = self.written_path(fault.path)
        name = label(path[:-1] if fault.names == "section" else path)
        if fault.names == "value" and not isinstance(node.value, (dict, list)):
            name = f"{name}={show(node.value)}"
        if node.where.path == path and fault.names != "section":
            name = ""  # an override names its own path
        return node.where, f"{name}: {fault.problem}" if name else fault.problem


@dataclass(frozen=True)
class Fault:
    """A problem with the value at `path`.

    `names` says how the message begins: with the key and its value, with the key alone, or with the key's section (for a
    text that names the key itself).
    """

    path: KeyPath
    problem: str
    names: Literal["value", "key", "section"] = "value"


# --- Values in messages --------------------------------------------------------------------------------------------------


def cut(text: str, limit: int = 60) -> str:
    """`text`, shortened to `limit` characters."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def show(value: object) -> str:
    """A value as it is named in a message."""
    if isinstance(value, str):
        return cut(value if value.isprintable() and value else repr(value))
    return yaml_words(cut(str(value)))


def label(path: KeyPath) -> str:
    """A path of keys as it is named in a message."""
    return ".".join(cut(part if part.isprintable() else repr(part), 200) for part in path)


def yaml_words(text: str) -> str:
    """Python's words for values as YAML spells them."""
    return re.sub(r"\b(None|True|False)\b", lambda match: {"None": "null"}.get(match[0], match[0].lower()), text)


def guess(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: what was probably meant."""
    near = difflib.get_close_matches(word.lower(), list(known), 1)
    return f'; did you mean "{near[0]}"?' if near else ""


# --- Reading -------------------------------------------------------------------------------------------------------------


class Reader:
    """Turns YAML text into trees and collects what is wrong."""

    def __init__(self) -> None:
        self._problems: list[tuple[Where, str]] = []

    def report(self, where: Where, problem: str) -> None:
        self._problems.append((where, problem))

    def problems(self) -> list[str]:
        """What was reported, a line each, in the order of the file, then of the overrides; none twice."""
        ordered = sorted(self._problems, key=lambda problem: (problem[0].path is not None, problem[0].line))
        lines = list(dict.fromkeys(f"{where}: {problem}" for where, problem in ordered))
        more = [f"... and {len(lines) - MAX_PROBLEMS} more problems"] if len(lines) > MAX_PROBLEMS else []
        return lines[:MAX_PROBLEMS] + more

    def file(self, source: str) -> Tree | None:
        """The tree of a file whose content must be a mapping, or None where it has none, which is reported."""
        text = self._content(source)
        tree = None if text is None else self.text(text, Where(source))
        if tree is None or isinstance(tree.value, dict):
            return tree
        self.report(tree.where, f"must be a mapping of keys to values, such as seed: 0, not {show(tree.plain())}")
        return None

    def _content(self, source: str) -> str | None:
        try:
            with open(source, "rb") as file:
                content = file.read(MAX_BYTES + 1)
            if len(content) <= MAX_BYTES:
                return content.decode("utf-8-sig")
            self.report(Where(source), f"is larger than 1 MB ({MAX_BYTES} bytes): is this a configuration?")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            self.report(Where(source, line), f"is not UTF-8 text (byte 0x{content[error.start]:02X}): save it as UTF-8")
        except (OSError, ValueError) as error:  # ValueError: a null byte in the name
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            self.report(Where(source), f"cannot be read: {reason}{_similar_file(source)}")
        return None

    def text(self, text: str, where: Where) -> Tree | None:
        """The tree of `text`, or None where it has none, which is reported. `where` is the whole source."""
        try:
            # typ="safe": plain values; pure: the same reader on every machine, whether or not the C one is installed.
            for event, problem in _examined(YAML(typ="safe", pure=True).parse(text)):
                if problem:
                    self.report(where.at(event), problem)
                    return None
            node = YAML(typ="safe", pure=True).compose(text)
        except YAMLError as error:
            line, problem = _syntax_problem(error, text)
            self.report(where if where.path is not None else Where(where.source, line), problem)
            return None
        except (AssertionError, ValueError, RecursionError) as error:  # what the reader forgets to check, such as versions and escapes
            self.report(where, f"is no YAML that can be read: {str(error) or type(error).__name__}")
            return None
        if node is None:
            empty = "is empty: write at least one key, such as seed: 0"
            self.report(where, empty if where.path is None else "has no value: write null for none")
            return None
        return self._tree(node, where.at(node), where, ())

    def _tree(self, node: Node, place: Where, source: Where, path: KeyPath) -> Tree | None:
        """The tree of `node`; without what is unusable, which is reported."""
        if isinstance(node, MappingNode):
            return Tree(place, self._mapping(node, source, path))
        if isinstance(node, SequenceNode):
            items = (self._tree(item, source.at(item), source, (*path, str(index))) for index, item in enumerate(node.value))
            return Tree(place, [item for item in items if item is not None])
        try:
            return Tree(place, _scalar(node.value, _kind(node)))
        except ValueError as error:
            self.report(place, f"{label(path)}: {error}" if path else str(error))
            return None

    def _mapping(self, node: MappingNode, source: Where, path: KeyPath) -> dict[str, Tree]:
        entries: dict[str, Tree] = {}
        for key_node, value_node in node.value:
            place = source.at(key_node)
            key = key_node.value
            if not isinstance(key_node, ScalarNode) or _kind(key_node) in ("null", "bool", "int", "float"):
                shown = cut(key) if isinstance(key_node, ScalarNode) else "a list or mapping"
                self.report(place, f"{label((*path, shown))}: a key must be text: put it in quotes")
            elif key in entries:
                line = entries[key].where.line
                first = f", first in line {line}" if line else ""
                self.report(place, f"{label((*path, key))}: is given twice{first}: keep one")
            elif (tree := self._tree(value_node, place, source, (*path, key))) is not None:
                entries[key] = tree
        return entries

    def override(self, root: Tree, text: str, defaults: Mapping[KeyPath, Mapping[str, Scalar]], source: str = "") -> None:
        """Writes the override `text`, "key.path=value", into the tree.

        A mapping that it adds a key to, and that is not there yet, begins with its `defaults`. `source` is what the user wrote, where that
        is not --set.
        """
        name, equals, value = text.partition("=")
        path = tuple(name.strip().split("."))
        where = Where(source or f"--set {show(text)}", path=path)
        if not equals or not all(path):
            self.report(where, "must be key.path=value, such as training.frames=1e6")
            return
        tree = self.text(value, where)
        if tree is None:
            return
        node = root
        for depth, key in enumerate(path, 1):
            if not isinstance(node.value, dict):
                at = label(path[: depth - 1])
                self.report(where, f"{at} is {show(node.plain())} ({node.where}), which has no keys: set {at} as a whole")
                return
            if depth == len(path):
                node.value[key] = tree
            elif key not in node.value:
                node.value[key] = Tree(where, {name: Tree(where, value) for name, value in defaults.get(path[:depth], {}).items()})
            node = node.value[key]


def _similar_file(source: str) -> str:
    folder, name = Path(source).parent, Path(source).name
    try:
        names = [entry.name for entry in folder.iterdir() if entry.suffix in (".yaml", ".yml")]
    except (OSError, ValueError):
        return ""
    near = difflib.get_close_matches(name, names, 1)
    return f'; did you mean "{folder / near[0]}"?' if near and near[0] != name else ""


def _examined(events: Iterable[Event]) -> Iterator[tuple[Event, str]]:
    """Each piece of YAML, and why it is refused if it is."""
    documents = depth = 0
    for number, event in enumerate(events):
        documents += isinstance(event, DocumentStartEvent)
        depth += isinstance(event, (MappingStartEvent, SequenceStartEvent))
        depth -= isinstance(event, (MappingEndEvent, SequenceEndEvent))
        if number > MAX_PIECES:
            yield event, f"more than {MAX_PIECES} keys and values: is this a configuration?"
        elif documents > 1:
            yield event, "a second document begins here: keep one, without ---"
        elif depth > MAX_DEPTH:
            yield event, f"is nested more than {MAX_DEPTH} deep"
        else:
            yield event, _forbidden(event)


def _forbidden(event: Event) -> str:
    if isinstance(event, DocumentStartEvent) and event.version not in (None, (1, 2)):
        return "%YAML must be 1.2, or left out (older versions read on as true and 010 as 8)"
    if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor is not None):
        return "anchors (&) and aliases (*) are not allowed: write the value out, or put text with such a character in quotes"
    tag = getattr(event, "tag", None)  # scalars and the starts of collections have one
    if tag is not None:
        return f"tags are not allowed ({cut(str(tag))}): write the plain value, or put text that begins with ! in quotes"
    return ""


def _syntax_problem(error: YAMLError, text: str) -> tuple[int, str]:
    """The line, 0 for none, and what is wrong there."""
    if isinstance(error, ReaderError):
        character = text[error.position]
        return text.count("\n", 0, error.position) + 1, f"the character {character!r} is not allowed: is this a text file?"
    mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
    problem = f"is not valid YAML: {getattr(error, 'problem', None) or error}"
    return mark.line + 1 if mark else 0, problem + ("; indent with spaces, not tabs" if "'\\t'" in problem else "")


def _kind(node: Node) -> str:
    """What YAML takes the node for: "str", "int", "float", "bool", "null", or others such as "timestamp"."""
    return str(node.tag).rpartition(":")[2]


def _scalar(text: str, kind: str) -> Scalar:
    """The value of a scalar; a kind that no setting knows, such as a date, is text. Raises `ValueError` for an unusable number."""
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind not in ("int", "float"):
        return text
    if len(text) > 100:
        raise ValueError(f"a number of {len(text)} characters is too long")
    digits = text.replace("_", "").lower()
    if kind == "int":
        # Base 0 knows 0x, 0o and 0b, but refuses the leading zeros that YAML 1.2 allows.
        return int(digits, 0) if re.match(r"[-+]?0[xob]", digits) else int(digits)
    number = float({".inf": "inf", ".nan": "nan"}.get(digits.lstrip("+-"), digits))
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number: write the number itself, or null for no limit where that is allowed")
    return number


# --- Writing -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A key with the comment above it; it has a value, or else the entries below it."""

    key: str
    comment: str = ""
    value: Scalar | Sequence[Scalar] = None
    below: tuple[Entry, ...] = ()


def written(entries: Iterable[Entry]) -> str:
    """The entries as YAML that reads back as the same."""
    return "\n".join(_lines(entries, "")) + "\n"


def _lines(entries: Iterable[Entry], indent: str) -> Iterator[str]:
    for entry in entries:
        if entry.below and not indent:
            yield ""
        comment = entry.comment[:1].upper() + entry.comment[1:]
        yield from textwrap.wrap(comment, 110, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ", break_long_words=False)
        yield f"{indent}{_value(entry.key)}:" + ("" if entry.below else f" {_value(entry.value)}")
        yield from _lines(entry.below, indent + "  ")


def _value(value: object) -> str:
    """A scalar or a list of scalars as YAML, and what is empty."""
    if isinstance(value, dict) and not value:
        return "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(item) for item in value)}]"
    if value is None or isinstance(value, bool):
        return yaml_words(str(value))
    if not isinstance(value, str):
        return str(value)
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", value) and value.lower() not in _WORDS
    return value if plain else json.dumps(value, ensure_ascii=False)
