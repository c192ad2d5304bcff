// The kernel library: matrix products, and what else programs need every day, as functions over views. Each launches on the device of its
// arguments and returns; each kernel is a function over tiles that can be read and copied.
#pragma once
#include "tilewright/detail/requirements.h"

#include "tilewright/kernels/attention.h"
#include "tilewright/kernels/attention_backward.h"
#include "tilewright/kernels/cross_entropy.h"
#include "tilewright/kernels/decode_attention.h"
#include "tilewright/kernels/elements.h"
#include "tilewright/kernels/gated_mlp.h"
#include "tilewright/kernels/grouped_matmul.h"
#include "tilewright/kernels/matmul.h"
#include "tilewright/kernels/matmul_scaled.h"
#include "tilewright/kernels/matvec.h"
#include "tilewright/kernels/normalization.h"
#include "tilewright/kernels/options.h"
#include "tilewright/kernels/random.h"
#include "tilewright/kernels/reduce.h"
#include "tilewright/kernels/rotary.h"
#include "tilewright/kernels/scan.h"
#include "tilewright/kernels/softmax.h"
