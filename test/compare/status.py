"""Determines the exit status of each test on both sides, for compare.py --tests."""
import importlib.machinery
import pathlib
import subprocess

import trees

results = importlib.machinery.SourceFileLoader("results", str(trees.HERE.parent / "results.py")).load_module()
TIMEOUT = 7200  # seconds


def find_lit(side):
    folder = pathlib.Path(trees.run(side.facts()["llvm_config"], "--bindir").strip())
    return next((str(path) for path in (folder / "lit", folder / "llvm-lit") if path.exists()), "lit")


def run_lit(side, jobs):
    path = side.build / "compare-lit.json"
    path.unlink(missing_ok=True)
    subprocess.run([find_lit(side), "test", "-j", str(jobs), "--param", f"build={side.build}", "-o", str(path), "-q"],
                   cwd=side.tree, capture_output=True, timeout=TIMEOUT)
    return results.read("lit", path)


def run_unit(side, jobs):
    path = side.build / "compare-unit.xml"
    path.unlink(missing_ok=True)
    subprocess.run([str(side.build / "bin" / "tile-unit"), "-j", str(jobs), f"--xml={path}"], cwd=side.tree,
                   capture_output=True, timeout=TIMEOUT)
    return results.read("criterion", path)


def run_tests(base, head, options):
    """(kind, {name: word} of the base, the same of the head). The sides run one after the other, to avoid timeouts."""
    for kind, runner in (("lit test", run_lit), ("unit test", run_unit)):
        trees.say(f"{kind}s")
        yield (kind, *(runner(side, options.jobs) for side in (base, head)))
