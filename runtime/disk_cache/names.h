// The names in the folder of the disk cache, and the unit in which its size is counted.
#pragma once
#include <cstdint>

namespace tilewright::rt {

inline constexpr const char* kEntryFolder = "code";
inline constexpr const char* kTemporaryPrefix = "new-";  // prefix of files that are not complete
inline constexpr const char* kSizeFile = "size";         // has one byte for each stored block
inline constexpr const char* kLockFile = "lock";         // locked by the process that evicts entries

inline constexpr std::uint64_t kBlockBytes = 4096;
inline constexpr std::uint64_t blocks_of(std::uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }

}  // namespace tilewright::rt
