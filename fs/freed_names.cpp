#include "fs/freed_names.hpp"

#include <algorithm>

#include "fs/target_name.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kMaxNames = 4096;

}  // namespace

FreedNames::Shown FreedNames::key(const SourceDirectory& directory, const std::string& shown_name) {
  const struct stat st = directory.stat();
  return {st.st_dev, st.st_ino, shown_name};
}

void FreedNames::note(const SourceDirectory& directory, const std::string& full_name,
                      ShownAs shown) {
  if (shown == ShownAs::itself) return;
  const std::string shown_name = preferred_name(full_name, shown);
  // Whatever comes after a flat frame gets its very name, unless it can become an array.
  if (full_name == shown_name + usual_suffix_ && !is_array_name(shown_name)) return;
  if (names_.size() == kMaxNames) {
    root_.sync_all();
    names_.clear();
  }
  names_.emplace(key(directory, shown_name), full_name);
}

void FreedNames::before_taking(const SourceDirectory& directory, const std::string& full_name,
                               ShownAs shown) {
  if (names_.empty()) return;
  const Shown wanted = key(directory, preferred_name(full_name, shown));
  const auto [first, last] = names_.equal_range(wanted);
  if (std::all_of(first, last, [&](const auto& freed) { return freed.second == full_name; }))
    return;
  directory.sync();
  names_.erase(first, last);
}

}  // namespace bloscfs::fs
