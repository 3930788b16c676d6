"""JSON lines of interlacer_bench as a Markdown table on standard output.   table.py FILE..."""

import json
import sys


def figure(value, digits):
    return "–" if value is None else f"{value:.{digits}f}"


cases, ceilings = [], []
for path in sys.argv[1:]:
    with open(path) as lines:
        for line in lines:
            item = json.loads(line)
            (ceilings if item["stage"] == "ceilings" else cases).append(item)

print("| case | ours ms (p10–p90) | peer ms (p10–p90) | ratio | goal | error | floor ratio |")
print("|---|---|---|---|---|---|---|")
for c in cases:
    spread = [f'{figure(c[s + "_ms"], 3)} ({figure(c[s + "_p10_ms"], 3)}–{figure(c[s + "_p90_ms"], 3)})'
              for s in ("ours", "peer")]
    if c.get("peer_recall") is not None:
        spread[1] += f', recall {c["peer_recall"]:.4f}'
    goal = "–" if c["goal"] is None else f'{c["goal"]:.2f} { {True: "met", False: "missed", None: "not measured"}[c["goal_met"]] }'
    error = "WRONG" if not c["correct"] else f'{c["error"]:.1e}'
    print(f'| {c["case"]} | {spread[0]} | {c.get("skipped") or spread[1]} | {figure(c["ratio"], 2)} | {goal} | {error} '
          f'| {figure(c["floor_ratio"], 1)} |')

if ceilings:
    print("\n| ceiling | threads | value |\n|---|---|---|")
    for c in ceilings:
        print(f'| {c["case"]} | {c["threads"]} | {c["value"]:.1f} {c["unit"]} |')
