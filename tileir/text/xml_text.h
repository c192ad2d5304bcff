// Text for XML documents, such as SVG pictures.
#pragma once
#include <string>
#include <string_view>

namespace tilewright::ir {

/// The text as the content of an element, or as an attribute's value in double quotes. Control characters, which XML does not allow, become
/// spaces.
inline std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

}  // namespace tilewright::ir
