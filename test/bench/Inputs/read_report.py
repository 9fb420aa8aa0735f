"""Compares a report's CSV with its JSON.  usage: read_report.py CSV JSON"""
import csv
import json
import sys

with open(sys.argv[1], newline="") as file:
    lines = list(csv.DictReader(file))
report = json.load(open(sys.argv[2]))
assert report["device"]["name"] == "cpu" and report["peer"] == "", report
assert len(lines) == len(report["rows"])
for line, row in zip(lines, report["rows"]):
    assert list(row) == [key for key, value in line.items() if value != ""], (line, row)
    for key, value in row.items():
        assert type(value)(line[key]) == value, (key, line[key], value)
right = [row for row in report["rows"] if row["status"] == "right"]
print(f"{len(lines)} rows in both, {len(right)} of them right, {sum('rank' in row for row in right)} ranked")
