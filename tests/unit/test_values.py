"""Immutable values behave as frozen dataclasses do."""

from __future__ import annotations

import copy
import pickle

import pytest

from acp_server.base.values import fields_of, made, record, replace, value


@value
class Point:
    """A place."""

    x: int
    y: int = 0


@value
class Other:
    x: int
    y: int = 0


@value
class Empty:
    pass


@value
class Checked:
    text: str
    size: int = -1

    def __post_init__(self) -> None:
        if self.size < 0:
            object.__setattr__(self, "size", len(self.text))


def test_fields_are_taken_in_order_by_name_and_by_default() -> None:
    assert (Point(1).x, Point(1).y, Point(1, 2).y, Point(y=5, x=4).x) == (1, 0, 2, 4)
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]  # what is shown here
    with pytest.raises(TypeError):
        Point(1, z=3)  # type: ignore[call-arg]  # what is shown here


def test_values_are_equal_by_class_and_fields() -> None:
    assert Point(1, 2) == Point(1, 2)
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    assert Point(1, 2) != Point(2, 1)
    other: object = Other(1)
    assert Point(1) != other
    assert len({Point(1), Other(1), Point(1, 0)}) == 2
    assert Empty() == Empty()


def test_nothing_can_be_changed_or_added() -> None:
    point = Point(1)
    for name in ("x", "z"):
        with pytest.raises(AttributeError):
            setattr(point, name, 2)
    with pytest.raises(AttributeError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_replace_copies_and_refuses_unknown_fields() -> None:
    assert replace(Point(1, 2), y=3) == Point(1, 3)
    with pytest.raises(TypeError):
        replace(Point(1), z=1)


def test_values_are_shown_matched_copied_and_pickled() -> None:
    assert repr(Point(1, 2)) == "Point(x=1, y=2)"
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
    assert copy.deepcopy(Point(1, 2)) == Point(1, 2)
    assert pickle.loads(pickle.dumps(Point(1, 2))) == Point(1, 2)


def test_what_the_class_defines_is_kept() -> None:
    assert Checked("abc").size == 3
    assert Checked("abc", 9).size == 9
    assert Point.__doc__ == "A place."


@record
class Basket:
    """Changes."""

    owner: str
    things: list[str] = made(default_factory=list)
    full: bool = False

    def add(self, thing: str) -> None:
        self.things.append(thing)


def test_a_record_can_be_changed_and_is_only_itself() -> None:
    basket, other = Basket("me"), Basket("me")
    basket.add("pear")
    basket.full = True
    assert (basket.owner, basket.things, basket.full, other.things) == ("me", ["pear"], True, [])
    assert basket != other
    assert len({basket, other}) == 2
    assert Basket("you", ["fig"], full=True).things == ["fig"]
    with pytest.raises(AttributeError):
        basket.more = 1  # type: ignore[attr-defined]  # what is shown here
    with pytest.raises(TypeError):
        Basket()  # type: ignore[call-arg]  # what is shown here


def test_fields_come_in_order() -> None:
    assert fields_of(Point(1, 2)) == (1, 2)
    assert fields_of(Empty()) == ()
