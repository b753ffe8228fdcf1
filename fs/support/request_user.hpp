#pragma once
// Whose request a thread serves: what it costs is counted to them.

#include <optional>

#include <sys/types.h>

namespace bloscfs::fs {

/// While one lives, its thread works for that user. The innermost one counts.
class RequestUser {
 public:
  explicit RequestUser(uid_t user);
  ~RequestUser();
  RequestUser(const RequestUser&) = delete;
  RequestUser& operator=(const RequestUser&) = delete;

  /// Nullopt where the thread does what nobody has asked for.
  static std::optional<uid_t> current();

 private:
  const std::optional<uid_t> before_;
};

}  // namespace bloscfs::fs
