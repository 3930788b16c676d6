"""JSON lines of interlacer_bench as Markdown tables.

table.py FILE...               the tables, on standard output
table.py --into=DOC FILE...    the rows of DOC that are of these cases are written anew; what has no row there, or several, is printed
table.py --check=DOC FILE...   exit code 1 unless every row of DOC is that of a line; a label may stand behind a case's name
"""

import json
import re
import sys

OF_CASES = ("case", "ours ms (p10–p90)", "peer ms (p10–p90)", "ratio", "goal", "error", "floor ratio")
OF_CEILINGS = ("ceiling", "threads", "value")


def figure(value, digits):
    return "–" if value is None else f"{value:.{digits}f}"


def cells(c):
    if c["stage"] == "ceilings":
        return [c["case"], str(c["threads"]), f'{c["value"]:.1f} {c["unit"]}']
    ours, peer = (f'{figure(c[s + "_ms"], 3)} ({figure(c[s + "_p10_ms"], 3)}–{figure(c[s + "_p90_ms"], 3)})' for s in ("ours", "peer"))
    if c.get("peer_recall") is not None:
        peer += f', recall {c["peer_recall"]:.4f}'
    goal = "–" if c["goal"] is None else f'{c["goal"]:.2f} { {True: "met", False: "missed", None: "not measured"}[c["goal_met"]] }'
    error = "WRONG" if not c["correct"] else f'{c["error"]:.1e}'
    return [c["case"], ours, c.get("skipped") or peer, figure(c["ratio"], 2), goal, error, figure(c["floor_ratio"], 1)]


def line(row):
    return f'| {" | ".join(row)} |\n'


def key(row):
    """A ceiling is measured with one thread and with all."""
    return tuple(row[:2]) if len(row) == len(OF_CEILINGS) else row[0]


def rows_of(document):
    """Places and cells of what may be rows of measurements."""
    with open(document) as lines:
        for place, text in enumerate(lines):
            row = re.findall(r" (.*?) \|", text) if text.startswith("| ") else []
            if len(row) in (len(OF_CASES), len(OF_CEILINGS)) and row[0] not in (OF_CASES[0], OF_CEILINGS[0]):
                yield place, row


def write_into(document, rows):
    with open(document) as file:
        lines = file.readlines()
    places = {}
    for place, row in rows_of(document):
        places.setdefault(key(row), []).append(place)
    for row in rows:
        found = places.get(key(row), [])
        if len(found) == 1:
            lines[found[0]] = line(row)
        else:
            print(f"{len(found)} rows in {document}: {line(row)}", end="")
    with open(document, "w") as file:
        file.writelines(lines)


def check(document, rows, skipped):
    """A skipped peer's reason may be shortened in the document."""

    def is_of(row, measured):
        same = [a == b or (i == 2 and measured[0] in skipped) for i, (a, b) in enumerate(zip(row, measured))][1:]
        return len(row) == len(measured) and row[0].startswith(measured[0]) and all(same)

    lost = [row for _, row in rows_of(document) if "/" in row[0] and not any(is_of(row, measured) for measured in rows)]
    for row in lost:
        print(f"{document}: of no line: {line(row)}", end="")
    return 1 if lost else 0


def main(arguments):
    mode, document = None, None
    if arguments and arguments[0].startswith("--"):
        mode, _, document = arguments.pop(0).partition("=")
        if mode not in ("--into", "--check") or not document or not arguments:
            sys.exit(__doc__)
    items = []
    for path in arguments:
        with open(path) as lines:
            items += [json.loads(text) for text in lines]
    rows = [cells(item) for item in items if "case" in item]
    if mode == "--into":
        write_into(document, rows)
    elif mode == "--check":
        return check(document, rows, {item["case"] for item in items if item.get("skipped")})
    else:
        for header in (OF_CASES, OF_CEILINGS):
            table = [row for row in rows if len(row) == len(header)]
            if table or header == OF_CASES:
                sys.stdout.write(line(header) + "|---" * len(header) + "|\n" + "".join(map(line, table)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
