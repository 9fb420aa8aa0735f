"""Checks the JSON of a list: list_schema.py functions|points|passes|tuned < JSON. Writes how many elements it has.

Every field must be there, with this type, and no other one.
"""
import json
import sys

TYPED = {"name": str, "type": str}
SCHEMAS = {
    "functions": ("functions", {
        "kind": {"kernel", "compute", "func", "plan"}, "name": str, "line": int, "of": str,
        "params": [{"name": str, "kind": {"int", "bool", "type", "dim", "word"}, "default": str}],
        "tune": [{"params": [str], "points": [[str]]}], "where": [str],
        "args": [{**TYPED, "divisible": int, "noalias": bool, "const": bool, "tensor_map": bool}],
        "results": [TYPED]}),
    "points": ("points", {"point": dict, "dropped": str}),
    "passes": ("passes", {"name": str, "from": [int], "to": [int], "needs": [str], "meaning": str}),
    "tuned": ("points", {
        "tuned": int, "kernel": str, "device": str, "sm_count": int, "memory_clock_khz": int, "power_limit_mw": int,
        "sizes": str, "bucket": str, "point": str, "us": (int, float), "stale": bool, "unchecked": bool, "driver": str,
        "compiler": str}),
}


def check(value, schema, place):
    if isinstance(schema, set):
        ok = value in schema
    elif isinstance(schema, list):
        ok = isinstance(value, list)
        for i, element in enumerate(value if ok else []):
            check(element, schema[0], f"{place}[{i}]")
    elif isinstance(schema, dict):
        ok = isinstance(value, dict) and set(value) == set(schema)
        for key in schema if ok else []:
            check(value[key], schema[key], f"{place}.{key}")
    else:
        ok = isinstance(value, schema) and (schema is not int or not isinstance(value, bool))
    if not ok:
        sys.exit(f"{place} is {value!r}, not {schema}")


def main():
    field, schema = SCHEMAS[sys.argv[1]]
    read = json.load(sys.stdin)
    check(read, {"format": {1}, field: [schema]}, "it")
    print(len(read[field]), "elements")


main()
