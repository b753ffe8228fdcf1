#include "tests/support/xattr.hpp"

#include <cerrno>
#include <system_error>

#include <sys/xattr.h>

namespace bloscfs::test {

namespace {
constexpr std::size_t kMostValue = 1 << 17;  // above the kernel's limit of 64 KiB
}

std::optional<std::string> get_xattr(const fs_std::path& path, const std::string& name) {
  std::string value(kMostValue, '\0');
  const ssize_t size = lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
  if (size < 0 && errno == ENODATA) return std::nullopt;
  if (size < 0) throw_errno("getxattr " + name + " of " + path.string());
  value.resize(static_cast<std::size_t>(size));
  return value;
}

std::set<std::string> list_xattrs(const fs_std::path& path) {
  std::string names(kMostValue, '\0');
  const ssize_t size = llistxattr(path.c_str(), names.data(), names.size());
  if (size < 0) throw_errno("listxattr " + path.string());
  names.resize(static_cast<std::size_t>(size));
  std::set<std::string> result;
  for (std::size_t at = 0; at < names.size();) {
    const std::string name = names.c_str() + at;
    result.insert(name);
    at += name.size() + 1;
  }
  return result;
}

int errno_of_get_xattr(const fs_std::path& path, const std::string& name) {
  char value[256];
  return lgetxattr(path.c_str(), name.c_str(), value, sizeof value) < 0 ? errno : 0;
}

int errno_of_set_xattr(const fs_std::path& path, const std::string& name,
                       const std::string& value) {
  return lsetxattr(path.c_str(), name.c_str(), value.data(), value.size(), 0) < 0 ? errno : 0;
}

}  // namespace bloscfs::test
