// Names of the IR's types for use in namespace passes.
#pragma once
#include "tileir/ir.h"

namespace tilewright::passes {

using ir::AttrName;
using ir::BlockId;
using ir::Element;
using ir::Family;
using ir::Function;
using ir::HardwareDim;
using ir::LayoutId;
using ir::LinearLayout;
using ir::OpId;
using ir::OpKind;
using ir::Type;
using ir::ValueId;

}  // namespace tilewright::passes
