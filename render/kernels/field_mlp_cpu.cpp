#define INTERLACER_KERNEL_NAMESPACE cpu
#include "render/kernels/field_mlp_body.h"
