// The kernel library: matrix products, and what else programs need every day, as functions over views. Each launches on the device of its
// arguments and returns; each kernel is a function over tiles that can be read and copied.
#pragma once
#include "tilewright/detail/requirements.h"

#include "tilewright/kernels/cross_entropy.h"
#include "tilewright/kernels/matmul.h"
#include "tilewright/kernels/normalization.h"
#include "tilewright/kernels/options.h"
#include "tilewright/kernels/softmax.h"
