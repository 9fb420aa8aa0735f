"""Runs a command on a terminal with this many columns, and prints the lines that it draws over each other.

    terminal.py COLUMNS COMMAND ...
"""
import fcntl
import os
import pty
import struct
import sys
import termios

process, terminal = pty.fork()
if process == 0:
    size = struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0)
    fcntl.ioctl(2, termios.TIOCSWINSZ, size)
    os.execvp(sys.argv[2], sys.argv[2:])
text = b""
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    text += piece
_, status = os.waitpid(process, 0)
drawn = [line.split("\r")[0] for line in text.decode().split("\r\x1b[K")[1:-1]]
print("drawn", len(drawn), "longest", max(map(len, drawn), default=0))
print("\n".join(drawn))
sys.exit(os.waitstatus_to_exitcode(status))
