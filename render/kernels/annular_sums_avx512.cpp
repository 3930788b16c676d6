#define INTERLACER_KERNEL_NAMESPACE avx512
#include "render/kernels/annular_sums_body.h"
