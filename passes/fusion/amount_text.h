// Amounts in reports, with units.
#pragma once
#include <string>

namespace tilewright::passes::fusion {

/// "1.5 KiB".
std::string bytes_text(double bytes);
/// "65.5k".
std::string count_text(double count);
/// "1.5 Mflop".
std::string flops_text(double flops);
/// "12.3 us".
std::string time_text(double seconds);

}  // namespace tilewright::passes::fusion
