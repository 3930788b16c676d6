#include "knn/knn_index.h"
