#define INTERLACER_KERNEL_NAMESPACE avx2
#include "knn/kernels/grid_knn_body.h"
