/* A libcuda.so.1 whose functions all fail as on a machine without a GPU. */
#define DRIVER(name, symbol, parameters) \
    int symbol(void); \
    int symbol(void) { \
        return 100; \
    }
#include "runtime/cuda/driver/driver.def"
