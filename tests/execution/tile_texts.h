// Textual IR for tests of copies between tensors and buffers: lines of layouts, and texts with words replaced.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tileir/type.h"

namespace tilewright::test {

/// A tile and how a canonical buffer of it is divided.
struct BufferedTile {
  ir::Element element;
  int rows, columns, slab_bytes;
  int elements() const { return rows * columns; }
  int bytes() const { return elements() * ir::bytes(element); }
};

/// "  layout #0 [64, 64] {...}": of a tile of these extents, powers of two, over four warps; each register has elements of all of them.
std::string layout_over_threads(int number, const std::vector<int>& extents);
/// "  layout #1 [64, 64] {offset = ...}": of the canonical buffer.
std::string layout_of_buffer(int number, const BufferedTile&);

/// The text with each of these words replaced.
std::string replaced(std::string text, const std::map<std::string, std::string>& words);

}  // namespace tilewright::test
