#define INTERLACER_KERNEL_NAMESPACE avx512
#include "render/kernels/ssim_rows_body.h"
