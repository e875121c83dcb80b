"""Values and errors: no hive is needed."""

from __future__ import annotations

import json
import pickle

import pytest

import beeline
from beeline import _errors
from beeline._registry import children_of, find_named, members_of, siblings_of
from beeline._types import nanoseconds


def test_a_message_id_is_a_number_with_a_text() -> None:
    id = beeline.MessageId((3 << 40) + 21)
    assert (str(id), f"{id}", repr(id)) == ("3:21", "3:21", "<MessageId 3:21>")
    assert beeline.MessageId.parse("3:21") == id == (3 << 40) + 21
    assert json.dumps(str(id)) == '"3:21"'
    assert str(beeline.MessageId(0)) == ""


@pytest.mark.parametrize("text", ["", "3", "3:", ":21", "03:21", "3:-1", "0:0", "a:b", "3:21 "])
def test_other_texts_are_no_message_ids(text: str) -> None:
    with pytest.raises(ValueError, match="3:21"):
        beeline.MessageId.parse(text)


def test_each_code_has_its_class() -> None:
    full = _errors.make(9, 0, "no room", 0)
    assert isinstance(full, beeline.Full) and isinstance(full, beeline.SendError)
    assert (full.code, full.text, str(full), full.errno) == ("full", "no room", "no room", 0)
    big = _errors.make(10, 0, "too big", 64)
    assert isinstance(big, beeline.TooBig) and big.limit == 64
    failed = _errors.make(1, 2, "open: no such file", 0)
    assert isinstance(failed, beeline.SystemCallError) and failed.errno == 2
    assert type(_errors.make(8, 0, "late", 0)) is TimeoutError
    assert type(_errors.make(99, 0, "new", 0)) is beeline.BeelineError
    assert not issubclass(beeline.PeerDeadTaken, beeline.SendError)
    copy = pickle.loads(pickle.dumps(big))
    assert type(copy) is beeline.TooBig and (copy.text, copy.limit) == ("too big", 64)


def test_groups_have_words() -> None:
    assert beeline.Group.of("all") is beeline.Group.ALL
    assert beeline.Group.of("role:worker") == beeline.Group.of_role("worker")
    assert beeline.Group.of(beeline.Group.SUBTREE) is beeline.Group.SUBTREE
    for word in ("role:", "everybody", "children:x", ""):
        with pytest.raises(ValueError, match="role:worker"):
            beeline.Group.of(word)


def test_times() -> None:
    assert nanoseconds(0.5) == 500_000_000
    assert nanoseconds(None) == nanoseconds(float("inf")) == (1 << 63) - 1
    assert nanoseconds(-1.0) == 0
    with pytest.raises(ValueError, match="nan"):
        nanoseconds(float("nan"))


def agents(*rows: tuple[int, int, str]) -> list[beeline.AgentInfo]:
    found = []
    for pid, parent, name in rows:
        state = beeline.State.DEAD if name == "dead" else beeline.State.IDLE
        role = "task" if pid == 9 else "worker"
        found.append(beeline.AgentInfo(pid, parent, name, role, state, 0, 0, 0, 0, 0, 0, False))
    return found


def test_the_tree_is_read_from_a_list() -> None:
    tree = agents(
        (1, 0, "king"), (2, 1, "a"), (3, 2, "b"), (4, 2, "dead"), (5, 3, "c"), (9, 1, "t")
    )

    def pids(found: list[beeline.AgentInfo]) -> list[int]:
        return [agent.pid for agent in found]

    assert pids(children_of(tree, 2, False)) == [3, 4]
    assert pids(children_of(tree, 2, True)) == [3, 4, 5]
    assert pids(siblings_of(tree, 3, 2)) == [4]
    assert pids(members_of(tree, 2, beeline.Group.CHILDREN)) == [3]
    assert pids(members_of(tree, 2, beeline.Group.SUBTREE)) == [3, 5]
    assert pids(members_of(tree, 2, beeline.Group.ALL)) == [3, 5, 9]
    assert pids(members_of(tree, 2, beeline.Group.of_role("task"))) == [9]


def test_a_name_finds_the_living_the_exact_and_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    names = ["queen@a", "queen", "queen@b", "x@y", "x@z"]
    tree = agents(*((pid, 1, name) for pid, name in enumerate(names, 2)))
    assert find_named(tree, "queen").pid == 3
    assert find_named(tree, "x").pid == 6
    assert find_named(tree, "4").pid == 4
    for name in ("2@a", "nobody", "77"):
        with pytest.raises(beeline.NoAgent, match=name):
            find_named(tree, name)
