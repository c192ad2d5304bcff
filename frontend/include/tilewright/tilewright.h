// The public surface of Tilewright: devices and buffers, kernels and views, and the language of tiles.
#pragma once
#include "tilewright/detail/requirements.h"

#include "tilewright/compiler_bug.h"
#include "tilewright/constants.h"
#include "tilewright/device.h"
#include "tilewright/device_print.h"
#include "tilewright/elements.h"
#include "tilewright/error.h"
#include "tilewright/graph.h"
#include "tilewright/kernel.h"
#include "tilewright/launch.h"
#include "tilewright/log.h"
#include "tilewright/ops.h"
#include "tilewright/plan.h"
#include "tilewright/tile.h"
#include "tilewright/view.h"
