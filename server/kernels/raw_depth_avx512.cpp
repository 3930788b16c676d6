#define INTERLACER_KERNEL_NAMESPACE avx512
#include "server/kernels/raw_depth_body.h"
