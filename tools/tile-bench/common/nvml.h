/* Clock and power of a GPU, from NVML, which comes with the driver. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_NVML_H
#define TILE_TOOLS_TILE_BENCH_COMMON_NVML_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_nvml bench_nvml;

/* By its PCI bus id, as the CUDA driver writes it. NULL where there is no NVML, or it does not know
 * the GPU. */
bench_nvml *bench_nvml_open(const char *bus_id);
void bench_nvml_close(bench_nvml *nvml);

/* What NVML says now. False, and 0, where it does not say it. */
bool bench_nvml_clock(const bench_nvml *nvml, unsigned *mhz);
bool bench_nvml_power(const bench_nvml *nvml, unsigned *milliwatts);
bool bench_nvml_power_limit(const bench_nvml *nvml, unsigned *milliwatts);
bool bench_nvml_energy(const bench_nvml *nvml,
                       uint64_t *millijoules); /* since the driver started */
/* Whether the clock is held down to keep to the power limit. */
bool bench_nvml_is_capped(const bench_nvml *nvml);
/* Of the driver: "580.65.06". */
bool bench_nvml_driver(const bench_nvml *nvml, char *text, unsigned size);

#endif
