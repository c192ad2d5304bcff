// Every kind of problem. A kind has a shape (tilewright/kernels/configuration.h), a choice in its own words, and what the library asks of
// both: candidates, the key of what is measured, the problem with a number of rows that is not the caller's, and its time.
#pragma once
#include "frontend/kernels/problems/attention.h"
#include "frontend/kernels/problems/decode.h"
#include "frontend/kernels/problems/elements.h"
#include "frontend/kernels/problems/fft.h"
#include "frontend/kernels/problems/matvec.h"
#include "frontend/kernels/problems/product.h"
#include "frontend/kernels/problems/reduction.h"
#include "frontend/kernels/problems/rows.h"
#include "frontend/kernels/problems/scan.h"
#include "frontend/kernels/problems/sparse.h"
#include "frontend/kernels/problems/top_k.h"
