// The table of PTX's element types.
#include "runtime/emulator/ptx/types.h"

#include <array>

namespace tilewright::rt::emulator {
namespace {

struct Row {
  Type type;
  std::string_view name;
  int bytes;
};

constexpr std::array kTypes = {
    Row{Type::pred, "pred", 0},     Row{Type::b8, "b8", 1},         Row{Type::b16, "b16", 2},     Row{Type::b32, "b32", 4},
    Row{Type::b64, "b64", 8},       Row{Type::b128, "b128", 16},    Row{Type::u8, "u8", 1},       Row{Type::u16, "u16", 2},
    Row{Type::u32, "u32", 4},       Row{Type::u64, "u64", 8},       Row{Type::s8, "s8", 1},       Row{Type::s16, "s16", 2},
    Row{Type::s32, "s32", 4},       Row{Type::s64, "s64", 8},       Row{Type::u16x2, "u16x2", 4}, Row{Type::s16x2, "s16x2", 4},
    Row{Type::u4, "u4", 0},         Row{Type::s4, "s4", 0},         Row{Type::f16, "f16", 2},     Row{Type::f16x2, "f16x2", 4},
    Row{Type::bf16, "bf16", 2},     Row{Type::bf16x2, "bf16x2", 4}, Row{Type::f32, "f32", 4},     Row{Type::f64, "f64", 8},
    Row{Type::tf32, "tf32", 4},     Row{Type::e4m3, "e4m3", 1},     Row{Type::e5m2, "e5m2", 1},   Row{Type::e4m3x2, "e4m3x2", 2},
    Row{Type::e5m2x2, "e5m2x2", 2},
};

}  // namespace

std::optional<Type> type_named(std::string_view name) {
  for (const Row& row : kTypes)
    if (row.name == name) return row.type;
  return std::nullopt;
}

std::string_view name_of(Type type) { return kTypes[static_cast<std::size_t>(type)].name; }
int bytes_of(Type type) { return kTypes[static_cast<std::size_t>(type)].bytes; }
bool is_float(Type type) { return type >= Type::f16; }
bool is_signed(Type type) { return type >= Type::s8 && type <= Type::s64; }

std::string_view name_of(Space space) {
  constexpr std::array<std::string_view, 6> kNames = {"generic", "global", "shared", "local", "const", "param"};
  return kNames[static_cast<std::size_t>(space)];
}

}  // namespace tilewright::rt::emulator
