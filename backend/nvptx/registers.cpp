// Finds registers by the elements that they hold.
#include "backend/nvptx/registers.h"

#include <map>

#include "tileir/diagnostics.h"

namespace tilewright::backend::nvptx {

using ir::HardwareDim;

Registers select_registers(const Registers& v, const ir::LinearLayout& from, const ir::LinearLayout& to) {
  std::map<std::uint32_t, std::uint32_t> holder;
  for (std::uint32_t r = 0; r < from.size(HardwareDim::reg); ++r) holder.emplace(from.apply(HardwareDim::reg, r), r);
  Registers out;
  for (std::uint32_t r = 0; r < to.size(HardwareDim::reg); ++r) {
    const auto it = holder.find(to.apply(HardwareDim::reg, r));
    TW_CHECK(it != holder.end(), "two layouts of a tile differ in more than registers");
    out.push_back(v[it->second]);
  }
  return out;
}

std::vector<Registers> make_phis(llvm::IRBuilder<>& b, std::span<const Registers> like, unsigned incoming) {
  std::vector<Registers> out;
  for (const Registers& r : like) {
    Registers& p = out.emplace_back();
    for (Value* v : r) p.push_back(b.CreatePHI(v->getType(), incoming));
  }
  return out;
}

void add_incoming(std::span<const Registers> phis, std::span<const Registers> values, llvm::BasicBlock* from) {
  for (std::size_t i = 0; i < phis.size(); ++i)
    for (std::size_t r = 0; r < phis[i].size(); ++r) llvm::cast<llvm::PHINode>(phis[i][r])->addIncoming(values[i][r], from);
}

}  // namespace tilewright::backend::nvptx
