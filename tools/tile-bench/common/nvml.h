/* Clock and power of a GPU, from NVML, which is part of the driver. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_NVML_H
#define TILE_TOOLS_TILE_BENCH_COMMON_NVML_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_nvml bench_nvml;

/* Opens a GPU by its PCI bus id, as the CUDA driver writes it. NULL if NVML is missing or does not
 * list the GPU. */
bench_nvml *bench_nvml_open(const char *bus_id);
void bench_nvml_close(bench_nvml *nvml);

/* Current readings. False and 0 if NVML does not provide them. */
bool bench_nvml_clock(const bench_nvml *nvml, unsigned *mhz);
bool bench_nvml_power(const bench_nvml *nvml, unsigned *milliwatts);
bool bench_nvml_power_limit(const bench_nvml *nvml, unsigned *milliwatts);
bool bench_nvml_energy(const bench_nvml *nvml,
                       uint64_t *millijoules); /* since the driver was loaded */
/* True if the power limit currently lowers the clock. */
bool bench_nvml_is_capped(const bench_nvml *nvml);
/* The driver's version: "580.65.06". */
bool bench_nvml_driver(const bench_nvml *nvml, char *text, unsigned size);

#endif
