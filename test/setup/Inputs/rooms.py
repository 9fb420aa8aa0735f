"""Checks the dependencies between folders (rooms) of production code: rooms.py ROOT TABLE (rooms.txt describes tables).

Every error is a line with its location: an include that the table does not allow, a function that is called
against the arrows or declared by another room than the one that defines it, a table that is not in order or names more
than necessary, a folder with too many files, a file that is too long, and a README that is missing, too long, or does
not name each file of its folder once (a long one: at least once).

Functions are found in the text, so names that macros generate, such as those of passes, are not seen. Functions that
include/tile declares may be defined in any room, and called wherever that creates no cycle."""
import os
import re
import sys

root, table = sys.argv[1], sys.argv[2]
FOLDERS = ("include", "lib", "passes", "runtime", "tools")
MOST_FILES, MOST_LINES, MOST_OF_README = 45, 600, 60
KINDS = (".c", ".h", ".def", ".tile", ".py", ".md", ".in", ".cmake")  # of the files that a README names
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"')
PUBLIC = "include/tile"
NO_CODE = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
# At the beginning of a line, up to `{` or `;`: a function that is not static.
FUNCTION = re.compile(r"^(?!static\b|typedef\b)[A-Za-z_][\w \t*\n]*?\b(\w+)\([^;{}]*\)[^;{}()]*([;{])", re.M)
STATIC = re.compile(r"^static\b[^;{}()]*?\b(\w+)\(", re.M)
faults = []


def fault(where, text):
    faults.append(f"{where}: {text}")


def read_table():
    """{room: names}, the rooms whose README may be long, the functions and headers that may violate the arrows."""
    rooms, long, exceptions = {}, set(), {}
    with open(table) as lines:
        for number, line in enumerate(lines, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            head, _, names = line.partition(":")
            if head.startswith("!"):
                exceptions[head[1:]] = False  # not needed yet
                if not names.strip():
                    fault(f"{os.path.basename(table)}:{number}", f"{head[1:]} is an exception without a reason")
                continue
            room, *mark = head.split()
            where = f"{os.path.basename(table)}:{number}"
            for name in names.split():
                if name not in rooms and not (name.endswith(".h") and os.path.dirname(name) in rooms):
                    fault(where, f"{room} names {name}, which is no room above it, nor a header of one")
            if room in rooms:
                fault(where, f"{room} is here twice")
            rooms[room] = names.split()
            long.update([room] if mark == ["long"] else [])
    return rooms, long, exceptions


def read_files():
    """{room: names of its files}"""
    rooms = {}
    for folder in FOLDERS:
        for path, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(f for f in folders if f != "__pycache__")
            if names:
                rooms[os.path.relpath(path, root)] = sorted(names)
    return rooms


def reach(rooms, room):
    """The rooms and headers that files of a room may include."""
    found, rest = set(), list(rooms.get(room, ()))
    while rest:
        name = rest.pop()
        if name not in found:
            found.add(name)
            rest += rooms.get(name, ())
    return found


def check_includes(rooms, files):
    used = {room: set() for room in rooms}
    for room, names in files.items():
        allowed = reach(rooms, room)
        for name in names:
            if not name.endswith((".c", ".h", ".def")):
                continue
            with open(os.path.join(root, room, name)) as lines:
                for number, line in enumerate(lines, 1):
                    match = INCLUDE.match(line)
                    path = match and (match[1] if os.path.exists(os.path.join(root, match[1])) else "include/" + match[1])
                    other = path and os.path.dirname(path)
                    if not path or other == room or other not in files:
                        continue
                    used.setdefault(room, set()).update((path, other))
                    if path not in allowed and other not in allowed:
                        fault(f"{room}/{name}:{number}", f"{room} may not include {path}: there is no arrow from {room} "
                              f"to {other}. Move what both need into a lower folder")
    return used


def code_of(path):
    """The file's text without comments and strings, with the same line numbers."""
    with open(path) as file:
        return NO_CODE.sub(lambda found: "\n" * found[0].count("\n"), file.read())


def find_functions(files):
    """{path: text}, {function: rooms that define it}, {function: headers that declare it}"""
    text, defined, declared = {}, {}, {}
    for room, names in files.items():
        for name in names:
            if name.endswith((".c", ".h")):
                path = f"{room}/{name}"
                text[path] = code_of(os.path.join(root, path))
                for function, end in FUNCTION.findall(text[path]):
                    if end == "{" and name.endswith(".c"):
                        defined.setdefault(function, set()).add(room)
                    if end == ";" and name.endswith(".h"):
                        declared.setdefault(function, set()).add(path)
    return text, defined, declared


def check_functions(rooms, files, exceptions):
    text, defined, declared = find_functions(files)
    below = {room: reach(rooms, room) | {room} for room in files}
    public = {function for function, headers in declared.items()
              if any(os.path.dirname(h) == PUBLIC or h in exceptions for h in headers)}

    def excused(*names):
        found = [name for name in names if name in exceptions]
        exceptions.update((name, True) for name in found)
        return found

    for function, headers in declared.items():
        for header in headers:
            room = os.path.dirname(header)
            if room != PUBLIC and function in defined and room not in defined[function] and not excused(function, header):
                fault(header, f"declares {function}, which {min(defined[function])} defines. Declare it there")
    for path, code in text.items():
        room, own = os.path.dirname(path), set(STATIC.findall(code))
        seen = set()
        for match in re.finditer(r"\b([A-Za-z]\w*)\b(\s*\()?", code):
            name, called = match[1], match[2]
            if name in seen or name not in defined or name in own or room == PUBLIC or not (called or "_" in name):
                continue
            seen.add(name)
            if defined[name] & below[room] or path in declared.get(name, ()):
                continue
            if not room.startswith("tools") and all(other.startswith("tools") for other in defined[name]):
                continue  # a type or a field: the library is linked without tools
            if not room.startswith("tools") and all(other.startswith("tools") for other in defined[name]):
                continue  # a type or a field: the library is linked without tools
            cycle = all(room in below[other] for other in defined[name])
            if (cycle or name not in public) and not excused(name):
                line = code.count("\n", 0, match.start()) + 1
                fault(f"{path}:{line}", f"{room} may not call {name}, which {min(defined[name])} defines: there is no "
                      f"arrow from {room} to {min(defined[name])}. Move it into a lower folder")
    for name, needed in exceptions.items():
        if not needed:
            fault(os.path.basename(table), f"{name} needs no exception")


def check_needed(rooms, used):
    """Each name of the table must allow an include that nothing else on its line allows."""
    for room, names in rooms.items():
        for name in names:
            without = {**rooms, room: [n for n in names if n != name]}
            if not (reach(rooms, room) - reach(without, room)) & used.get(room, set()):
                fault(os.path.basename(table), f"{room} does not need {name}")


def names_in(text):
    """The files that a README names, in backticks; `x.[ch]` is two."""
    for name in re.findall(r"`([^`\s/]+)`", text):
        match = re.fullmatch(r"(.*\.)\[(\w+)\]", name)
        yield from [match[1] + end for end in match[2]] if match else [name]


def check_readme(room, names, long):
    path = os.path.join(root, room, "README.md")
    if not os.path.exists(path):
        return fault(room, "there is no README.md")
    with open(path) as file:
        text = file.read()
    count = text.count("\n")
    if count > MOST_OF_README and not long:
        fault(f"{room}/README.md", f"{count} lines, at most {MOST_OF_README}")
    named = list(names_in(text))
    for name in names:
        if name != "README.md" and (name not in named or not long and named.count(name) > 1):
            fault(f"{room}/README.md", f"names {name} {named.count(name)} times instead of once")
    for name in named:
        if name not in names and os.path.splitext(name)[1] in KINDS and not long:
            fault(f"{room}/README.md", f"names {name}, which is not in {room}")


def main():
    rooms, long, exceptions = read_table()
    files = read_files()
    for room in rooms:
        if room not in files:
            fault(os.path.basename(table), f"{room} is no folder with files")
    check_needed(rooms, check_includes(rooms, files))
    check_functions(rooms, files, exceptions)
    for room, names in files.items():
        if room not in rooms:
            fault(os.path.basename(table), f"{room} is not in the table")
        if len(names) > MOST_FILES:
            fault(room, f"{len(names)} files, at most {MOST_FILES}")
        for name in names:
            if name.endswith((".c", ".h")):
                with open(os.path.join(root, room, name)) as lines:
                    count = sum(1 for _ in lines)
                if count > MOST_LINES:
                    fault(f"{room}/{name}", f"{count} lines, at most {MOST_LINES}")
        check_readme(room, names, room in long)
    for line in faults:
        print(line)
    arrows = sum(len(names) for names in rooms.values())
    print(f"{len(files)} rooms, {arrows} arrows, {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
