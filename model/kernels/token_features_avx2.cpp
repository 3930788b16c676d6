#define INTERLACER_KERNEL_NAMESPACE avx2
#include "model/kernels/token_features_body.h"
