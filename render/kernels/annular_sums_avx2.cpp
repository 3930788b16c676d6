#define INTERLACER_KERNEL_NAMESPACE avx2
#include "render/kernels/annular_sums_body.h"
