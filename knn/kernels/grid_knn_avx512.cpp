#define INTERLACER_KERNEL_NAMESPACE avx512
#include "knn/kernels/grid_knn_body.h"
