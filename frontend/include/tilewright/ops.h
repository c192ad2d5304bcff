// The functions of the language, group by group.
#pragma once
#include "tilewright/ops/atomic.h"
#include "tilewright/ops/control.h"
#include "tilewright/ops/create.h"
#include "tilewright/ops/dot.h"
#include "tilewright/ops/elementwise.h"
#include "tilewright/ops/index.h"
#include "tilewright/ops/library.h"
#include "tilewright/ops/memory.h"
#include "tilewright/ops/random.h"
#include "tilewright/ops/reduce.h"
#include "tilewright/ops/scan.h"
#include "tilewright/ops/sort.h"
