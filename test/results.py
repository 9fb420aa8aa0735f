"""Counts the results of a test runner.

    results.py RUNNER FILE STATUS [FILE STATUS]   "passed failed skipped" of a run, or of two of the same build
    results.py skipped FILE                       for tile-unit --filter: the unit tests that were skipped

RUNNER is criterion or lit, FILE its output, STATUS its exit status. If a runner exits with a failure, at least one
test has failed, whatever its file says. Of two runs each test counts once: it fails if it fails in one of
them, and passes if it passes in one and is skipped or omitted in the other.
"""
import json
import sys
import xml.etree.ElementTree as tree

SKIPPED, PASSED, FAILED = range(3)
WORDS = {PASSED: ("PASSED", "PASS", "XFAIL", "FLAKYPASS"), SKIPPED: ("SKIPPED", "UNSUPPORTED", "EXCLUDED")}


def read(runner, path):
    """The status word of each test."""
    if runner == "lit":
        with open(path, encoding="utf-8") as file:
            return {test["name"]: test["code"] for test in json.load(file)["tests"]}
    return {suite.get("name") + "/" + case.get("name"): case.get("status")
            for suite in tree.parse(path).getroot().iter("testsuite") for case in suite.iter("testcase")}


def judge(word):
    return next((result for result, words in WORDS.items() if word in words), FAILED)


def main():
    if sys.argv[1] == "skipped":
        names = [name for name, word in read("criterion", sys.argv[2]).items() if judge(word) == SKIPPED]
        print("@(%s)" % "|".join(names) if names else "")
        return
    results, runner_failed = {}, False
    for path, status in zip(sys.argv[2::2], sys.argv[3::2]):
        runner_failed |= status != "0"
        for name, word in read(sys.argv[1], path).items():
            results[name] = max(judge(word), results.get(name, SKIPPED))
    counts = [list(results.values()).count(result) for result in (PASSED, FAILED, SKIPPED)]
    counts[1] = max(counts[1], int(runner_failed))
    print(*counts)


if __name__ == "__main__":
    main()
