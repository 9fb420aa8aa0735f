/* Host tables of launches: made once for each shape, kept by the device until its end. */
#ifndef TILE_RUNTIME_TABLE_H
#define TILE_RUNTIME_TABLE_H

#include "lib/codegen/abi_data.h"
#include "runtime/device.h"

/* What a table depends on: its expressions, which are one for each text, the extents' values, and
 * those of the arguments that the cost names; 0 for the others. */
enum { TILE_TABLE_KEY = 4 + 64 };
typedef struct tile_table_key {
    unsigned length; /* in use of these */
    int64_t value[TILE_TABLE_KEY];
} tile_table_key;

/* False after a diagnostic if these arguments give no table. args: as tile_abi_grid takes them. */
bool tile_make_table_key(const tile_abi *abi, unsigned index, const int64_t *args,
                         tile_table_key *key);
/* Its address in the device's memory; 0: nobody has made it. Takes no lock. */
uint64_t tile_find_table(tile_device *device, const tile_table_key *key);
/* Makes it, unless it is there. Under the context's lock. */
tile_status tile_add_table(tile_device *device, const tile_abi *abi, unsigned index,
                           const int64_t *args, const tile_table_key *key, uint64_t *address);
void tile_free_tables(tile_device *device);

#endif
