"""Checks the output of --trace: events on a row do not overlap, in each block every row
has a name, and every wait follows an event that ended.

usage: trace.py FILE OPERATION ...   prints how often each of these occurs, and all waits by their names
"""
import collections
import json
import sys


def main():
    with open(sys.argv[1]) as file:
        events = json.load(file)["traceEvents"]
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    blocks = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    rows, count = collections.defaultdict(list), collections.Counter()
    for e in events:
        if e["ph"] != "X":
            continue
        assert e["dur"] > 0 and e["pid"] in blocks, e
        assert e["args"]["place"].count(":") == 2, e
        rows[e["pid"], e["tid"]].append(e)
        count[e["name"]] += 1
    for row, list_ in rows.items():
        end = 0
        for e in sorted(list_, key=lambda e: e["ts"]):
            assert e["ts"] >= end, (named[row], end, e)
            end = e["ts"] + e["dur"]
    # On a GPU a wait ends by the clock of its warp, not at the tick of the event that it waited for.
    compared = {} if count["between"] else rows
    ends = {e["ts"] + e["dur"] for list_ in rows.values() for e in list_ if e["cat"] != "wait"}
    for list_ in compared.values():
        for e in list_:
            assert e["cat"] != "wait" or e["ts"] + e["dur"] in ends, ("waits for nothing", e)
    print(f"{len(blocks)} blocks, rows: {', '.join(sorted(set(named.values())))}")
    for name in sys.argv[2:] + sorted(n for n in count if n.startswith("wait")):
        print(f"{name}: {count[name]}")


main()
