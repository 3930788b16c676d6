#define INTERLACER_KERNEL_NAMESPACE avx2
#include "render/kernels/ssim_rows_body.h"
