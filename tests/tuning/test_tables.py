"""Tables of tunings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.tuning.made_up import Made, clock

from gridlane.backends import names
from gridlane.launch import current
from gridlane.tuning import tables
from gridlane.tuning.errors import TuningError
from gridlane.tuning.search import tune
from gridlane.tuning.spaces import Space

SPACE = Space({"n": range(12)})
SHIPPED_READER = tables.shipped


def value(candidate):
    return candidate.named["n"]


def made(monkeypatch, results=None):
    return clock(
        monkeypatch, Made(lambda c: 20 - value(c), results, estimate=lambda c: 1 + value(c))
    )


@pytest.fixture
def table(monkeypatch, tmp_path):
    """A table whose best candidate the estimate puts last."""
    tuning = tune(made(monkeypatch), SPACE, 300, most=12)
    file = tmp_path / "table.json"
    file.write_text(tables.text_of([tuning], current.device()))
    return file


def test_what_a_table_has_is_not_measured(monkeypatch, table):
    subject = made(monkeypatch)
    assert tables.use(table) == 1
    tuning = tune(subject, SPACE, 300)
    assert tuning.is_known and tuning.best.candidate.named == {"n": 11}
    assert [value(each) for each in subject.launched] == [0, 0, 11]  # plain, measured; then checked


def test_the_best_of_a_table_is_compared(monkeypatch, table):
    """With the plain one's results; it is thrown out where they differ."""
    tables.use(table)
    tuning = tune(made(monkeypatch, lambda c: 1 + (value(c) == 11)), SPACE, 300)
    assert not tuning.is_known and tuning.best.candidate.named == {"n": 10}


def change(file, **facts):
    data = json.loads(file.read_text())
    data["device"].update(facts)
    data["digest"] = tables._digest(data)
    file.write_text(json.dumps(data))


def test_a_table_of_another_driver_is_an_order(monkeypatch, table):
    change(table, driver="12.1")
    tables.use(table)
    tuning = tune(made(monkeypatch), SPACE, 300, most=3)
    assert not tuning.is_known
    assert [value(each.candidate) for each in tuning.trials] == [0, 11, 10]


def test_a_table_of_another_kind_is_none(monkeypatch, table):
    change(table, kind="cuda")
    tables.use(table)
    tuning = tune(made(monkeypatch), SPACE, 300, most=3)
    assert [value(each.candidate) for each in tuning.trials] == [0, 1, 2]


def test_tables_of_other_kernels_are_none(monkeypatch, table):
    tables.use(table)
    other = clock(monkeypatch, Made(lambda c: 1, text="other"))
    assert not tune(other, SPACE, 300).is_known
    subject = made(monkeypatch)
    subject.shapes = "others"
    assert not tune(subject, SPACE, 300).is_known


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text.replace('"milliseconds": 9.0', '"milliseconds": 1.0'), "damaged"),
        (lambda text: text[:-20], "is no table of tunings"),
        (lambda text: text.replace('"format": 1', '"format": 2'), "of the format 1"),
        (lambda text: "[]", "is no table of tunings of the format 1"),
        (lambda text: "\x00\xff", "is no table of tunings"),
        (lambda text: "[" * 100_000, "is no table of tunings"),
    ],
)
def test_damaged_tables(table, damage, message):
    table.write_text(damage(table.read_text()))
    with pytest.raises(TuningError, match=message):
        tables.use(table)


@pytest.mark.parametrize(
    "parts",
    [
        {"tunings": None}, {"tunings": {}}, {"tunings": [1]}, {"tunings": [{}]},
        {"tunings": [{"source": [1], "shapes": "a"}]}, {"device": None}, {"device": [1]},
        {"device": {"kind": 5}}, {"gridlane": 5},
    ],
)  # fmt: skip
def test_tables_of_other_types(table, parts):
    """Their digest is right."""
    data = {**json.loads(table.read_text()), **parts}
    table.write_text(json.dumps({**data, "digest": tables._digest(data)}))
    with pytest.raises(TuningError, match=r"is no table of tunings: (its parts|one has no)"):
        tables.use(table)


@pytest.mark.parametrize("trials", [None, "text", [1], [{"values": 5}], [{}], {}])
def test_trials_of_other_types_are_no_advice(monkeypatch, table, trials):
    data = json.loads(table.read_text())
    data["tunings"][0]["trials"] = trials
    table.write_text(json.dumps({**data, "digest": tables._digest(data)}))
    assert tables.use(table) == 1
    assert not tune(made(monkeypatch), SPACE, 300).is_known


def test_no_table(tmp_path):
    with pytest.raises(OSError):
        tables.use(tmp_path / "none.json")


SHIPPED = sorted(Path(tables.__file__).with_name("shipped").glob("*.json"))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.name)
def test_the_tables_of_gridlane(file):
    """Each is whole, small, and of a kind of devices that there is."""
    table = tables.read(file.read_text(), file.name)
    assert table.device["kind"] in names() and set(table.device) == set(
        tables.identity(current.device())
    )
    assert table.tunings and file.stat().st_size < 200_000
    for entry in table.tunings.values():
        states = [each["state"] for each in entry["trials"]]
        assert states[0] == "measured" and len(states) <= 8


def test_a_damaged_table_of_gridlane_is_a_warning(monkeypatch, tmp_path):
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped" / "x.json").write_text(SHIPPED[0].read_text().replace("0.0", "0.1", 1))
    monkeypatch.setattr(tables, "files", lambda package: tmp_path)
    with pytest.warns(UserWarning, match=r"x\.json is damaged"):
        assert SHIPPED_READER.__wrapped__() == ()
