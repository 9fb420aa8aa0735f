"""Puts a tuned point into a cache, through the library.  usage: add_point.py LIBTILE FOLDER"""
import ctypes
import sys

text, number = ctypes.c_char_p, ctypes.c_uint


class Key(ctypes.Structure):
    _fields_ = [("kernel", text), ("bucket", text), ("sizes", text), ("device", text),
                ("sm_count", number), ("memory_clock", number), ("power_limit", number)]


class Point(ctypes.Structure):
    _fields_ = [("kernel_name", text), ("bindings", text), ("seconds", ctypes.c_double),
                ("driver", text), ("compiler", text), ("stale", ctypes.c_bool),
                ("tuned", ctypes.c_int64)]


tile = ctypes.CDLL(sys.argv[1])
tile.tile_context_create.restype = ctypes.c_void_p
tile.tile_cache_keep_point.restype = ctypes.c_bool
context, cache = ctypes.c_void_p(tile.tile_context_create()), ctypes.c_void_p()
assert tile.tile_cache_create(context, sys.argv[2].encode(), None, ctypes.byref(cache)) == 0
key = Key(b"kernel @vector_add ...", b"n 16", None, b"NVIDIA H200", 132, 3201000, 700000)
point = Point(b"vector_add", b"block=512", 1.25e-5, b"580.65", None, False, 0)
assert tile.tile_cache_keep_point(cache, ctypes.byref(key), ctypes.byref(point))
tile.tile_cache_destroy(cache)
tile.tile_context_destroy(context)
