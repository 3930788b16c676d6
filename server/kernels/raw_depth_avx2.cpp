#define INTERLACER_KERNEL_NAMESPACE avx2
#include "server/kernels/raw_depth_body.h"
