#define INTERLACER_KERNEL_NAMESPACE cpu
#include "server/kernels/raw_depth_body.h"
