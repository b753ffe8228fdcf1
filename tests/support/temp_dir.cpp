#include "tests/support/temp_dir.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/fd.hpp"

namespace bloscfs::test {

void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

TempDir::TempDir(const fs_std::path& parent) {
  std::string name = (parent / "bloscfs-test.XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw_errno("mkdtemp " + name);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs_std::remove_all(path_, ignored);
}

ByteVector read_file(const fs_std::path& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw_errno("open " + path.string());
  constexpr std::size_t kStep = 1 << 20;
  ByteVector bytes;
  std::size_t size = 0;
  for (;;) {
    bytes.resize(size + kStep);
    const ssize_t got = read(fd.get(), bytes.data() + size, kStep);
    if (got < 0) throw_errno("read " + path.string());
    size += static_cast<std::size_t>(got);
    if (got == 0) break;
  }
  bytes.resize(size);
  return bytes;
}

void write_file(const fs_std::path& path, std::string_view text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) throw_errno("create " + path.string());
  while (!text.empty()) {
    const ssize_t put = write(fd.get(), text.data(), text.size());
    if (put < 0) throw_errno("write " + path.string());
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

void write_file(const fs_std::path& path, const ByteVector& bytes) {
  write_file(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

int errno_of_reading(const fs_std::path& path) {
  try {
    read_file(path);
    return 0;
  } catch (const std::system_error& error) {
    return error.code().value();
  }
}

}  // namespace bloscfs::test
