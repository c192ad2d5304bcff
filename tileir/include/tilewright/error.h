// The two exceptions of the public surface: what a user's mistake and a failing device throw.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// A location in the user's source. `column` is 0 if it is not known; `line` is 0 if there is no location.
struct Location {
  std::string file;
  int line = 0, column = 0;
};

/// A further line of an error, for instance where the other operand was defined.
struct Note {
  Location where;
  std::string text;
};

/// A user's mistake. what() is "file:line:column: error: message", then a line "file:line:column: note: text" for each note.
class Error : public std::runtime_error {
 public:
  Error(Location where, const std::string& message, const std::vector<Note>& notes = {});
  /// A copy of an error, with a further note.
  Error(const Error&, const Note&);
  const Location& where() const { return where_; }
  /// Whether the program needs more shared memory, registers or memory than there is, so that smaller tiles may work.
  bool lacks_resources() const { return lacks_resources_; }

 private:
  template <class E>
  friend E lacking_resources(E);
  Location where_;
  bool lacks_resources_ = false;
};

/// A copy of an error, with lacks_resources().
template <class E>
E lacking_resources(E error) {
  error.lacks_resources_ = true;
  return error;
}

/// A device that failed: the driver call and the name of its error are in the text.
class DeviceError : public Error {
 public:
  using Error::Error;
};

}  // namespace tilewright
