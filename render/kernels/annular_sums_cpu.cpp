#define INTERLACER_KERNEL_NAMESPACE cpu
#include "render/kernels/annular_sums_body.h"
