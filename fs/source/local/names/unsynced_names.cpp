#include "fs/source/local/names/unsynced_names.hpp"

#include <system_error>

#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kMaxNames = 4096;

}  // namespace

UnsyncedNames::UnsyncedNames(const SourceRoot& root) : root_(root), bound_(kMaxNames) {}

UnsyncedNames::Shown UnsyncedNames::key(const SourceDirectory& directory,
                                        const std::string& full_name, ShownAs shown) {
  const struct stat st = directory.stat();
  return {st.st_dev, st.st_ino, preferred_name(full_name, shown)};
}

void UnsyncedNames::note(const Shown& shown, const std::string& full_name) {
  const MutexLock lock(mutex_);
  GivenUp& given_up = names_[shown];
  given_up.full_names.insert(full_name);
  given_up.noted = ++noted_;
}

void UnsyncedNames::note(const SourceDirectory& directory, const std::string& full_name,
                         ShownAs shown) {
  note(key(directory, full_name, shown), full_name);
}

void UnsyncedNames::note_exchanged(const SourceDirectory& directory, const std::string& full_name,
                                   ShownAs shown) {
  // The empty name makes before_taking() flush even if `full_name` itself is taken.
  note(key(directory, full_name, shown), {});
}

void UnsyncedNames::note_link(const struct stat& file) {
  const MutexLock lock(mutex_);
  files_[{file.st_dev, file.st_ino}] = ++noted_;
}

void UnsyncedNames::sync_all() {
  std::uint64_t noted = 0;
  {
    const MutexLock lock(mutex_);
    noted = noted_;
  }
  root_.sync_all();
  // A name that was noted after the flush began may not be durable.
  const MutexLock lock(mutex_);
  std::erase_if(names_, [&](const auto& given_up) { return given_up.second.noted <= noted; });
  std::erase_if(files_, [&](const auto& file) { return file.second <= noted; });
}

Need UnsyncedNames::before_replacing(NamesWork& work, const struct stat& file) {
  {
    const MutexLock lock(mutex_);
    if (!files_.contains({file.st_dev, file.st_ino})) return {};
  }
  return work.without_lock([this] { sync_all(); });
}

Need UnsyncedNames::before_giving_up(NamesWork& work) {
  {
    const MutexLock lock(mutex_);
    if (names_.size() + files_.size() < bound_) return {};
  }
  return work.without_lock([this] {
    try {
      sync_all();
    } catch (const std::system_error& error) {
      log::warn(error.what());
    }
    // The bound grows even if the flush fails. Otherwise each change would be called again without
    // end while SOURCE cannot be flushed.
    const MutexLock lock(mutex_);
    bound_ = names_.size() + files_.size() + kMaxNames;
  });
}

Need UnsyncedNames::before_taking(NamesWork& work, const SourceDirectory& directory,
                                  const std::string& full_name, ShownAs shown) {
  {
    const MutexLock lock(mutex_);
    if (names_.empty()) return {};
  }
  const Shown taken = key(directory, full_name, shown);
  std::uint64_t noted = 0;
  {
    const MutexLock lock(mutex_);
    const auto given_up = names_.find(taken);
    // If only this very full name was given up, the new entry overwrites what could come back.
    if (given_up == names_.end() || given_up->second.full_names == std::set{full_name}) return {};
    noted = given_up->second.noted;
  }
  return work.without_lock([this, taken, noted, in = directory] {
    in.sync();
    const MutexLock lock(mutex_);
    if (const auto given_up = names_.find(taken);
        given_up != names_.end() && given_up->second.noted == noted)
      names_.erase(given_up);
  });
}

}  // namespace bloscfs::fs
