/* Macros that iterate over rows of ops.def: TILE_EACH(PREFIX_, (a(..), b(..))) expands to
 * PREFIX_a(..) PREFIX_b(..), for a list of 1 to 12 items. An empty list is written (none), and
 * PREFIX_none must expand to nothing. */
#ifndef TILE_OPS_MACROS_H
#define TILE_OPS_MACROS_H

#define TILE_EACH(prefix, list) TILE_EACH_OF(prefix, TILE_UNPACK list)
#define TILE_UNPACK(...) __VA_ARGS__
#define TILE_EACH_OF(...) \
    TILE_EACH_PICK(__VA_ARGS__, TILE_EACH_12, TILE_EACH_11, TILE_EACH_10, TILE_EACH_9, \
                   TILE_EACH_8, TILE_EACH_7, TILE_EACH_6, TILE_EACH_5, TILE_EACH_4, TILE_EACH_3, \
                   TILE_EACH_2, TILE_EACH_1, 0) \
    (__VA_ARGS__)
#define TILE_EACH_PICK(prefix, a, b, c, d, e, f, g, h, i, j, k, l, pick, ...) pick
#define TILE_EACH_1(p, a) p##a
#define TILE_EACH_2(p, a, b) p##a p##b
#define TILE_EACH_3(p, a, b, c) p##a p##b p##c
#define TILE_EACH_4(p, a, b, c, d) p##a p##b p##c p##d
#define TILE_EACH_5(p, a, b, c, d, e) p##a p##b p##c p##d p##e
#define TILE_EACH_6(p, a, b, c, d, e, f) p##a p##b p##c p##d p##e p##f
#define TILE_EACH_7(p, a, b, c, d, e, f, g) p##a p##b p##c p##d p##e p##f p##g
#define TILE_EACH_8(p, a, b, c, d, e, f, g, h) p##a p##b p##c p##d p##e p##f p##g p##h
#define TILE_EACH_9(p, a, b, c, d, e, f, g, h, i) p##a p##b p##c p##d p##e p##f p##g p##h p##i
#define TILE_EACH_10(p, a, b, c, d, e, f, g, h, i, j) \
    p##a p##b p##c p##d p##e p##f p##g p##h p##i p##j
#define TILE_EACH_11(p, a, b, c, d, e, f, g, h, i, j, k) \
    p##a p##b p##c p##d p##e p##f p##g p##h p##i p##j p##k
#define TILE_EACH_12(p, a, b, c, d, e, f, g, h, i, j, k, l) \
    p##a p##b p##c p##d p##e p##f p##g p##h p##i p##j p##k p##l

/* The same, followed by the number of the item: PREFIX_a(..) (0), PREFIX_b(..) (1), */
#define TILE_NUMBERED(prefix, list) TILE_NUMBERED_OF(prefix, TILE_UNPACK list)
#define TILE_NUMBERED_OF(...) \
    TILE_NUMBERED_PICK(__VA_ARGS__, TILE_NUMBERED_6, TILE_NUMBERED_5, TILE_NUMBERED_4, \
                       TILE_NUMBERED_3, TILE_NUMBERED_2, TILE_NUMBERED_1, 0) \
    (__VA_ARGS__)
#define TILE_NUMBERED_PICK(prefix, a, b, c, d, e, f, pick, ...) pick
#define TILE_NUMBERED_1(p, a) p##a(0),
#define TILE_NUMBERED_2(p, a, b) TILE_NUMBERED_1(p, a) p##b(1),
#define TILE_NUMBERED_3(p, a, b, c) TILE_NUMBERED_2(p, a, b) p##c(2),
#define TILE_NUMBERED_4(p, a, b, c, d) TILE_NUMBERED_3(p, a, b, c) p##d(3),
#define TILE_NUMBERED_5(p, a, b, c, d, e) TILE_NUMBERED_4(p, a, b, c, d) p##e(4),
#define TILE_NUMBERED_6(p, a, b, c, d, e, f) TILE_NUMBERED_5(p, a, b, c, d, e) p##f(5),

#endif
