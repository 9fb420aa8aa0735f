# permute.py --seed=N: reads a kernel in tile-opt's form from standard input; writes it with its independent statements
# in another order, within each region, as far as values and memory allow. Loads only swap with other loads.
import random
import re
import sys

READS = re.compile(r"\bload\b|\binside\b")
FREE = re.compile(
    r"= (splat|iota|cast|add|sub|mul|div|rem|mod|min|max|fma|neg|exp2?|select|transpose|reshape|broadcast|reduce|"
    r"lt|le|gt|ge|eq|ne|and|or|xor|dot|convert_layout|scan|sort|gather|view|base|block_id|ceildiv|abs|sqrt)\b")


def statements(lines):
    """Each statement with the lines of its regions."""
    found, depth = [], 0
    for line in lines:
        if depth == 0:
            found.append([])
        found[-1].append(line)
        depth += line.count("{") - line.count("}")
    return found


def effects_of(text):
    if any(word in text for word in ("store", "copy", "launch", "atomic", "wait", "sync", "fence", "shared", "print", "assert")):
        return "writes"
    return "reads" if READS.search(text) else "none"


def is_free(statement):
    return len(statement) == 1 and FREE.search(statement[0]) or effects_of("".join(statement)) != "writes"


def shuffle(lines, generator):
    todo, done, defined = [], [], {}
    for number, statement in enumerate(statements(lines)):
        if len(statement) > 1:
            inside, blocks = [], []
            for line in statement[1:-1]:
                if re.match(r"\s*} (else|do)\b", line) and sum(
                        text.count("{") - text.count("}") for text in inside) == 0:
                    blocks += shuffle(inside, generator) + [line]
                    inside = []
                else:
                    inside.append(line)
            statement = [statement[0]] + blocks + shuffle(inside, generator) + [statement[-1]]
        text = "".join(statement)
        own = re.match(r"\s*((?:%\w+(?:, )?)+) =", statement[0])
        needs = {defined[name] for name in re.findall(r"%\w+", text) if name in defined}
        effects = effects_of(text)
        last = "yield" in statement[0] or "return" in statement[0]
        for other in todo:
            if last or (effects != "none" and other["effects"] != "none" and
                        "writes" in (effects, other["effects"])):
                needs.add(other["number"])
        todo.append({"number": number, "lines": statement, "needs": needs, "effects": effects})
        for name in re.findall(r"%\w+", own.group(1)) if own else []:
            defined[name] = number
    placed = set()
    while todo:
        ready = [entry for entry in todo if entry["needs"] <= placed]
        entry = generator.choice(ready)
        todo.remove(entry)
        placed.add(entry["number"])
        done += entry["lines"]
    return done


def main():
    generator = random.Random(int(sys.argv[1].split("=")[1]))
    out, body, depth = [], None, 0
    for line in sys.stdin:
        if body is None:
            out.append(line)
            if line.rstrip() == "{":
                body = []
        elif line.rstrip() == "}":
            out += shuffle(body, generator) + [line]
            body = None
        else:
            body.append(line)
    sys.stdout.write("".join(out))


main()
