#define INTERLACER_KERNEL_NAMESPACE cpu
#include "render/kernels/ssim_rows_body.h"
