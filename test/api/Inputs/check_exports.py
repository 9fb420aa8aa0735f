"""Reads nm's list from stdin; fails if a symbol is not tile_*, or if there are no symbols."""
import sys

names = [line.split()[-1] for line in sys.stdin if line.strip()]
strangers = [name for name in names if not name.startswith("tile_")]
for name in strangers[:20]:
    print("not ours:", name)
sys.exit(1 if strangers or not names else 0)
