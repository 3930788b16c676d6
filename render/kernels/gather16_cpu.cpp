#define INTERLACER_KERNEL_NAMESPACE cpu
#include "render/kernels/gather16_body.h"
