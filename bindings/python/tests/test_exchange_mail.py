"""Mail, and the collections in which an exchange keeps it."""

from __future__ import annotations

import copy
import json
import math
import pickle
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest

from beeline.exchange import (
    OUTBOX,
    Element,
    Exchange,
    ExchangeError,
    ExistsError,
    Flow,
    Mail,
    NotFoundError,
    Pile,
    Progression,
    ValidationError,
)

A, B = uuid4(), uuid4()


def test_a_mail_keeps_its_fields() -> None:
    """LP-001, LP-003"""
    content = {"n": [1, 2]}
    mail = Mail(sender=A, recipient=B, content=content, channel="tasks", metadata={"k": 1})
    assert (mail.sender, mail.recipient, mail.channel) == (A, B, "tasks")
    assert mail.content is content and mail.metadata == {"k": 1}
    assert Mail(A).content is None and Mail(A).channel is None


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"sender": A, "colour": "red"},
        {"sender": "no uuid"},
        {"sender": 5},
        {"sender": A, "recipient": object()},
        {"sender": A, "channel": 5},
        {"sender": A, "metadata": "text"},
        {"sender": A, "created_at": "yesterday"},
        {"sender": A, "created_at": []},
        {"sender": A, "created_at": 1e300},
        {"sender": A, "created_at": "0001-01-01T00:00:00+14:00"},
        {"sender": A, "id": 7},
    ],
)
def test_a_field_that_cannot_be_is_a_value_error(fields: dict[str, Any]) -> None:
    """LP-001, LP-002, LP-003"""
    with pytest.raises(ValueError) as caught:
        Mail(**fields)
    assert isinstance(caught.value, ValidationError)


def test_sender_and_recipient_may_be_texts_or_elements() -> None:
    """LP-002"""
    element = Element()
    mail = Mail(sender=str(A), recipient=element)
    assert mail.sender == A and mail.recipient == element.id
    assert Mail(A, None).recipient is None


def test_content_can_be_assigned_and_the_identity_cannot() -> None:
    """LP-003"""
    mail = Mail(A)
    mail.content, mail.channel, mail.metadata = 7, "x", {"a": 1}
    setattr(mail, "recipient", str(B))
    assert (mail.content, mail.channel, mail.recipient) == (7, "x", B)
    for name, value in (("id", uuid4()), ("created_at", datetime.now()), ("channel", 5)):
        with pytest.raises(ValidationError):
            setattr(mail, name, value)


def test_each_mail_has_an_id_and_a_time_of_its_own() -> None:
    """LP-004"""
    first, second = Mail(A), Mail(A)
    assert first.id != second.id and first.id.version == 4
    assert first.created_at.tzinfo is timezone.utc and first.metadata == {}
    naive = datetime(2026, 1, 2, 3)
    assert Mail(A, created_at=naive).created_at == naive.replace(tzinfo=timezone.utc)
    there = datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    assert Mail(A, created_at=there).created_at.hour == 1


def test_a_mail_without_a_recipient_is_a_broadcast() -> None:
    """LP-005"""
    assert Mail(A).is_broadcast and not Mail(A).is_direct
    assert Mail(A, B).is_direct and not Mail(A, B).is_broadcast


def test_mails_are_equal_by_their_ids() -> None:
    """LP-006"""
    mail = Mail(A, content=1)
    same = Mail(B, content=2, id=mail.id)
    assert mail == same and hash(mail) == hash(same) == hash(mail.id)
    assert mail == Element(id=mail.id) and mail != Mail(A) and (mail == 5) is False
    assert bool(mail) and bool(Pile()) and {mail: 1}[same] == 1
    assert pickle.loads(pickle.dumps(mail)) == copy.deepcopy(mail) == mail


def test_a_mail_becomes_a_dictionary_and_comes_back() -> None:
    """LP-007"""
    mail = Mail(A, B, {"x": b"\0\xff", "at": datetime(2026, 1, 1), "id": A}, "tasks")
    mail.metadata["note"] = "n"
    python = mail.to_dict()
    assert python["id"] == mail.id and python["created_at"] == mail.created_at
    assert python["metadata"] == {"note": "n", "lion_class": "lionpride.session.mail.mail.Mail"}
    assert python["sender"] == A and python["content"] is mail.content
    plain = mail.to_dict(mode="json")
    assert plain["id"] == str(mail.id) and plain == json.loads(mail.to_json())
    database = mail.to_dict(mode="db")
    assert "metadata" not in database and database["node_metadata"]["note"] == "n"
    for made in (
        Mail.from_dict(python), Mail.from_dict(plain), Element.from_dict(database),
        Mail.from_json(mail.to_json()), Element.from_json(mail.to_json(decode=False)),
    ):
        assert type(made) is Mail and made == mail and made.created_at == mail.created_at
        assert made.content == mail.content and made.metadata == {"note": "n"}
        assert (made.sender, made.recipient, made.channel) == (A, B, "tasks")
    with pytest.raises(ValidationError):
        mail.to_dict("xml")
    with pytest.raises(ValidationError):
        Exchange.from_dict(plain)


@pytest.mark.parametrize(
    "content",
    [
        None, "", "text \N{SNOWMAN}", 0, -1.5, [], {}, {"a": [{"b": None}]}, b"", [b"x", [b"y"]],
        {"$beeline": 1}, {"$bytes": "eA=="}, [{"$uuid": 3}, b"x"], {"$plain": {"$time": b"x"}},
    ],
)
def test_any_json_and_bytes_survive_json(content: Any) -> None:
    """LP-007, C-33"""
    assert Mail.from_json(Mail(A, content=content).to_json()).content == content


def circle() -> Any:
    made: list[Any] = [b"x"]
    made.append(made)
    return made


@pytest.mark.parametrize("content", [object(), {1, 2}, math.nan, [math.inf, b"x"], circle()])
def test_a_content_that_is_no_json_is_refused(content: Any) -> None:
    mail = Mail(A, content=content)
    assert mail.to_dict()["content"] is content
    with pytest.raises(ValidationError):
        mail.to_json()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "5", b"\xff", '{"sender": "x"}', "[" * 100_000, '{"metadata": 5}',
     '{"sender": "%s", "content": {"$beeline": {"$bytes": 5}}}' % A,
     '{"sender": "%s", "content": {"$beeline": {"$plain": 5}}}' % A],
)
def test_a_text_that_is_no_mail_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValidationError):
        Mail.from_json(text)


def test_a_mail_shows_its_way() -> None:
    """LP-008"""
    a, b = str(A)[:8], str(B)[:8]
    assert repr(Mail(A, B)) == f"Mail({a} -> {b})"
    assert repr(Mail(A)) == f"Mail({a} -> broadcast)"
    assert repr(Mail(A, B, channel="alerts")) == f"Mail({a} -> {b}, channel=alerts)"
    assert f"sender={A!r}" in str(Mail(A)) and "content='hi'" in str(Mail(A, content="hi"))
    assert repr(Element(id=A)) == f"Element(id={A})"


def test_a_progression_is_a_list_of_ids() -> None:
    progression = Progression(name="outbox")
    progression.append(A)
    progression.append(Element(id=B))
    assert list(progression) == [A, B] and A in progression and uuid4() not in progression
    assert repr(progression) == "Progression(len=2 name='outbox')"
    assert progression.popleft() == A and len(progression) == 1
    progression.popleft()
    with pytest.raises(NotFoundError):
        progression.popleft()


def test_a_pile_keeps_elements_in_order() -> None:
    first, second = Element(), Element()
    pile = Pile([first, second])
    assert list(pile) == [first, second] and len(pile) == 2 and first in pile and A not in pile
    assert repr(pile) == "Pile(len=2)" and pile.get(first.id) is first
    with pytest.raises(ExistsError):
        pile.add(first)
    assert pile.pop(first) is first and pile.get(first, None) is None
    for name in ("get", "pop", "remove"):
        with pytest.raises(NotFoundError):
            getattr(pile, name)(first)
    with pytest.raises(TypeError):
        pile.add(5)  # type: ignore[arg-type]
    assert not issubclass(NotFoundError, (KeyError, ValueError))
    assert issubclass(ExistsError, ExchangeError)


def test_a_flow_has_items_and_progressions_over_them() -> None:
    flow: Flow[Mail] = Flow("box")
    flow.add_progression(Progression(name="a"))
    with pytest.raises(ExistsError):
        flow.add_progression(Progression(name="a"))
    with pytest.raises(KeyError):
        flow.get_progression("b")
    mail = Mail(A)
    flow.add_item(mail, progressions="a")
    assert list(flow.get_progression("a")) == [mail.id] and mail in flow.items
    assert repr(flow) == "Flow(items=1, progressions=1, name='box')"
    again: Flow[Mail] = Flow.from_json(flow.to_json())
    assert again == flow and list(again.items) == [mail]
    assert list(again.get_progression("a")) == [mail.id]
    assert flow.remove_item(mail) is mail and len(flow.get_progression("a")) == 0


def test_a_mailbox_takes_nothing_but_mail() -> None:
    """LP-011"""

    class Letter(Mail):
        pass

    flow = Exchange().register(A)
    assert flow.name == str(A) and [p.name for p in flow.progressions] == [OUTBOX]
    for item in (Letter(A), Element()):
        with pytest.raises(TypeError):
            flow.items.add(item)  # type: ignore[arg-type]
    assert isinstance(UUID(str(flow.name)), UUID)
