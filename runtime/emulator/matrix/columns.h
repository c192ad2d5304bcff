// Operands b of wgmma as numbers, which several warps and their pending products have use for at a time.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/emulator/matrix/product.h"

namespace tilewright::rt::emulator {

/// One of those who use the numbers of an operand. Not thread-safe: a block's warps run one at a time.
class Columns {
 public:
  Columns() = default;
  Columns(const Columns& other) : Columns(other.numbers_) {}
  Columns(Columns&& other) noexcept : numbers_(std::exchange(other.numbers_, nullptr)) {}
  Columns& operator=(Columns other) noexcept {
    std::swap(numbers_, other.numbers_);
    return *this;
  }
  ~Columns() {
    if (numbers_ != nullptr) --numbers_->users;
  }
  const ColumnsOfB* data() const { return numbers_->at.data(); }

 private:
  friend class ColumnBuffers;
  struct Numbers {
    std::vector<ColumnsOfB> at;
    u32 users = 0;
  };
  explicit Columns(Numbers* numbers) : numbers_(numbers) {
    if (numbers_ != nullptr) ++numbers_->users;
  }

  Numbers* numbers_ = nullptr;
};

/// The memory of a block's columns, which has to outlive them.
class ColumnBuffers {
 public:
  /// So many that nobody else uses, to be filled by f(span).
  template <class F>
  Columns fill(std::size_t count, F f) {
    Columns::Numbers* found = nullptr;
    for (const auto& numbers : all_)
      if (numbers->users == 0) {
        found = numbers.get();
        break;
      }
    if (found == nullptr) found = all_.emplace_back(std::make_unique<Columns::Numbers>()).get();
    found->at.resize(count);
    f(std::span(found->at));
    return Columns(found);
  }

 private:
  std::vector<std::unique_ptr<Columns::Numbers>> all_;
};

}  // namespace tilewright::rt::emulator
