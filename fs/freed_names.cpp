#include "fs/freed_names.hpp"

#include <system_error>

#include "fs/log.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kMaxNames = 4096;

}  // namespace

FreedNames::Shown FreedNames::key(const SourceDirectory& directory, const std::string& full_name,
                                  ShownAs shown) {
  const struct stat st = directory.stat();
  return {st.st_dev, st.st_ino, preferred_name(full_name, shown)};
}

void FreedNames::note(const SourceDirectory& directory, const std::string& full_name,
                      ShownAs shown) {
  if (names_.size() + files_.size() >= kMaxNames) forget_all();
  names_[key(directory, full_name, shown)].insert(full_name);
}

void FreedNames::note_exchanged(const SourceDirectory& directory, const std::string& full_name,
                                ShownAs shown) {
  names_[key(directory, full_name, shown)].insert(std::string());
}

void FreedNames::sync_all() {
  root_.sync_all();
  names_.clear();
  files_.clear();
}

void FreedNames::before_replacing(const struct stat& file) {
  if (files_.count({file.st_dev, file.st_ino}) != 0) sync_all();
}

void FreedNames::forget_all() {
  try {
    sync_all();
  } catch (const std::system_error& error) {
    // A change that has begun goes on, and the next one tries again.
    log::warn(error.what());
  }
}

void FreedNames::before_taking(const SourceDirectory& directory, const std::string& full_name,
                               ShownAs shown) {
  if (names_.empty()) return;
  const auto freed = names_.find(key(directory, full_name, shown));
  if (freed == names_.end() || freed->second == std::set<std::string>{full_name}) return;
  directory.sync();
  names_.erase(freed);
}

}  // namespace bloscfs::fs
