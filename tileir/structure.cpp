// Encodes a function as bytes for the key of a cache of compiled code.
#include "tileir/structure.h"

#include "tileir/op_kind.h"

namespace tilewright::ir {

namespace {

class StructureWriter {
 public:
  StructureWriter(const Function& f, ByteWriter& out) : f_(f), out_(out), numbers_(f.value_capacity(), UINT32_MAX) {}

  void write() {
    out_.write(f_.name);
    write_list(f_.files, [&](const std::string& file) { out_.write(file); });
    write_list(f_.params, [&](const Param& p) {
      out_.write(p.name);
      out_.write(p.divisible_by);
      out_.write(p.disjoint);
      out_.write(p.positive);
    });
    for (std::size_t i = 0; i < f_.layout_count(); ++i) write_layout(f_.layout(LayoutId{static_cast<std::uint32_t>(i)}));
    write_block(f_.body());
  }

 private:
  template <class List, class F>
  void write_list(const List& list, F&& write_element) {
    out_.write(std::uint64_t{list.size()});
    for (const auto& element : list) write_element(element);
  }

  void define(ValueId v) {
    numbers_[v.index] = next_++;
    out_.write(f_.type(v).key());
    out_.write(f_.layout_id(v).index);
  }

  void write_block(BlockId b) {
    write_list(f_.block(b).args, [&](ValueId v) { define(v); });
    for (const OpId op : f_.ops(b)) write_op(f_.op(op));
    out_.write(kEndOfBlock);
  }

  void write_op(const OpData& op) {
    out_.write(static_cast<std::uint16_t>(op.kind));
    out_.write(op.loc.file);
    out_.write(op.loc.line);
    out_.write(op.loc.column);
    write_list(op.operands, [&](ValueId v) { out_.write(numbers_[v.index]); });
    write_list(op.attrs, [&](const Attr& a) {
      out_.write(a.name);
      out_.write(a.number);
      write_list(a.list, [&](std::int64_t n) { out_.write(n); });
      out_.write(a.text);
    });
    write_list(op.regions, [&](BlockId b) { write_block(b); });
    write_list(op.results, [&](ValueId v) { define(v); });
  }

  void write_layout(const LinearLayout& layout) {
    write_list(layout.log2_extents(), [&](int extent) { out_.write(extent); });
    for (int d = 0; d < kHardwareDims; ++d)
      write_list(layout.bases(static_cast<HardwareDim>(d)), [&](std::uint32_t basis) { out_.write(basis); });
  }

  static constexpr std::uint16_t kEndOfBlock = UINT16_MAX;
  const Function& f_;
  ByteWriter& out_;
  std::vector<std::uint32_t> numbers_;  // indexed by value
  std::uint32_t next_ = 0;
};

}  // namespace

void write_structure(const Function& f, ByteWriter& out) { StructureWriter(f, out).write(); }

}  // namespace tilewright::ir
