"""Rows of beeline-bench and their tables, from lines of JSON."""

import dataclasses
import json


class BadRows(Exception):
    """The text names the line that is no row, or the lines that are missing."""


@dataclasses.dataclass
class Column:
    """The same as in bench/table.h."""

    title: str
    value: str  # JSON pointer into a row
    width: int = 9
    scale: float = 1.0
    digits: int = 0
    is_size: bool = False
    is_left: bool = False


@dataclasses.dataclass
class Table:
    name: str
    about: str
    columns: list
    rows: list = dataclasses.field(default_factory=list)


def value_at(row, pointer):
    for key in pointer.split("/")[1:]:
        row = row.get(key) if isinstance(row, dict) else None
    return row


def number_at(row, pointer):
    value = value_at(row, pointer)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def cell_text(column, row):
    """The text of one cell, the same as on the terminal; "-" for nothing."""
    value = value_at(row, column.value)
    number = number_at(row, column.value)
    if number is None:
        return value if isinstance(value, str) else "-"
    return size_text(number) if column.is_size else f"{number * column.scale:.{column.digits}f}"


def machines_of(rows):
    """The machines that rows of `limit` name, each once, whatever its load was. Another build is
    another machine."""
    machines = {}
    for machine in (row.get("machine") for those in rows.values() for row in those):
        if isinstance(machine, dict):
            lasting = {key: value for key, value in machine.items() if key != "load"}
            machines.setdefault(json.dumps(lasting, sort_keys=True), machine)
    return list(machines.values())


def _parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


def _lines_of(paths):
    """Yields (file, number, line) of the files, and of those in the directories that hold rows."""
    for path in paths:
        for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if line:
                    yield file, number, line


def read(paths):
    """Returns the rows, in lists by the name of their test, and the tables of these tests. The
    histograms that a row names become paths."""
    tables, rows = {}, {}
    for file, number, line in _lines_of(paths):
        row = _parsed(line)
        if isinstance(value_at(row, "/table"), str):
            columns = [Column(**column) for column in row["columns"]]
            tables[row["table"]] = Table(row["table"], row["about"], columns)
        elif isinstance(value_at(row, "/test"), str):
            for key in ("hist", "limit_hist"):
                if isinstance(row.get(key), str):
                    row[key] = file.parent / row[key]
            rows.setdefault(row["test"], []).append(row)
        else:
            raise BadRows(
                f"{file}:{number}: not a row of beeline-bench --json: a JSON object with a \"test\""
            )
    if not rows:
        raise BadRows(f"there are no rows in {paths[0]}")
    for test in rows.keys() - tables.keys():
        raise BadRows(
            f"the columns of {test} are missing: add a file with the output of "
            "`beeline-bench --tables`"
        )
    for table in tables.values():
        table.rows = rows.get(table.name, [])
    return rows, [table for table in tables.values() if table.rows]
