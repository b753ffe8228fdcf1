#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/model/chooser.hpp"
#include "tests/model/operation.hpp"

namespace bloscfs::test {

bool choose_path(Chooser& chooser, Operation& operation) {
  operation.path = chooser.existing_path();
  return true;
}

namespace {

constexpr std::size_t kAttributeNames = 4;

bool choose_mode(Chooser& chooser, Operation& operation) {
  operation.path = chooser.existing_path();
  operation.mode = static_cast<mode_t>(0700 | chooser.below(0100));
  return true;
}

void choose_times(Chooser& chooser, Operation& operation) {
  for (auto& time : operation.times) {
    time = chooser.past_time();
    if (chooser.chance(15)) time.tv_nsec = UTIME_OMIT;
  }
}

bool choose_utimens(Chooser& chooser, Operation& operation) {
  choose_times(chooser, operation);
  return choose_path(chooser, operation);
}

bool choose_futimens(Chooser& chooser, Operation& operation) {
  choose_times(chooser, operation);
  return chooser.open_slot(operation.slot);
}

bool choose_attribute(Chooser& chooser, Operation& operation) {
  operation.text = "user.model" + std::to_string(chooser.below(kAttributeNames));
  return choose_path(chooser, operation);
}

bool choose_set_attribute(Chooser& chooser, Operation& operation) {
  operation.bytes = chooser.bytes(chooser.below(300));
  operation.flags = chooser.chance(60) ? 0 : chooser.chance(50) ? XATTR_CREATE : XATTR_REPLACE;
  return choose_attribute(chooser, operation);
}

Outcome perform_stat(Side& side, const Operation& operation) {
  struct stat st {};
  Outcome outcome = outcome_of(stat((side / operation.path).c_str(), &st));
  if (outcome.error == 0 && S_ISREG(st.st_mode)) outcome.value = st.st_size;
  return outcome;
}

Outcome perform_chmod(Side& side, const Operation& operation) {
  return outcome_of(chmod((side / operation.path).c_str(), operation.mode));
}

Outcome perform_utimens(Side& side, const Operation& operation) {
  return outcome_of(
      utimensat(AT_FDCWD, (side / operation.path).c_str(), operation.times, AT_SYMLINK_NOFOLLOW));
}

Outcome perform_futimens(Side& side, const Operation& operation) {
  return outcome_of(futimens(side.files[operation.slot].fd.get(), operation.times));
}

Outcome perform_set_attribute(Side& side, const Operation& operation) {
  return outcome_of(lsetxattr((side / operation.path).c_str(), operation.text.c_str(),
                              operation.bytes.data(), operation.bytes.size(), operation.flags));
}

Outcome perform_get_attribute(Side& side, const Operation& operation) {
  ByteVector bytes(65536);
  Outcome outcome = outcome_of(lgetxattr((side / operation.path).c_str(), operation.text.c_str(),
                                         bytes.data(), bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(outcome.value, 0)));
  outcome.bytes = std::move(bytes);
  return outcome;
}

Outcome perform_remove_attribute(Side& side, const Operation& operation) {
  return outcome_of(lremovexattr((side / operation.path).c_str(), operation.text.c_str()));
}

}  // namespace

const OperationKinds& attribute_operations() {
  static const OperationKinds kinds = {
      {"stat", 4, Touches::nothing, choose_path, perform_stat},
      {"chmod", 3, Touches::nothing, choose_mode, perform_chmod},
      {"utimens", 3, Touches::times, choose_utimens, perform_utimens},
      {"futimens", 2, Touches::times, choose_futimens, perform_futimens},
      {"setxattr", 5, Touches::nothing, choose_set_attribute, perform_set_attribute},
      {"getxattr", 5, Touches::nothing, choose_attribute, perform_get_attribute},
      {"removexattr", 5, Touches::nothing, choose_attribute, perform_remove_attribute},
  };
  return kinds;
}

}  // namespace bloscfs::test
