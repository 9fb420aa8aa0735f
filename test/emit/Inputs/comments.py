"""Checks what comments add to code: comments.py MARK ANNOTATED BARE says whether it is only comments.

Comment lines begin with the mark, or are empty; after code, two blanks precede the mark."""
import sys

mark, annotated, bare = sys.argv[1], *(open(path).read().split("\n") for path in sys.argv[2:])
at = comments = 0
for number, line in enumerate(annotated, 1):
    want = bare[at] if at < len(bare) else None
    behind = line[len(want):] if want is not None and line.startswith(want) else None
    if behind == "" or (want and behind and behind.startswith(f"  {mark} ")):
        at += 1
        comments += behind != ""
    elif line.startswith(mark) or not line:
        comments += line != ""
    else:
        sys.exit(f"{number}: {line!r} instead of {want!r}")
print("same code," if at == len(bare) else f"only {at} of {len(bare)} lines,",
      "comments" if comments else "no comments")
