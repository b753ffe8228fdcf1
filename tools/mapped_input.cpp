#include "tools/mapped_input.hpp"

#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/error.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

[[noreturn]] void throw_errno(const std::string& file) {
  throw FileError(file, std::generic_category().message(errno));
}

void require_size(std::int64_t found, std::int64_t wanted) {
  if (found != wanted)
    codec::throw_malformed(fmt::format("{} bytes of elements instead of {}", found, wanted));
}

/// The kernel's word for a mapped file that has been cut short, or cannot be read.
void give_up(int /*signal*/) {
  constexpr std::string_view text = "b2frame: the input cannot be read any more\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(kExitBadData);
  _exit(kExitBadData);
}

frame::UniqueFd nameless_file_beside(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  frame::UniqueFd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) throw_errno(path);
  return fd;
}

std::int64_t copy_rest(RawInput& input, int fd, const std::string& beside) {
  std::vector<std::uint8_t> piece(kPiece);
  std::int64_t copied = 0;
  for (std::size_t got = kPiece; got == kPiece;) {
    got = input.read(piece);
    for (std::size_t done = 0; done < got;) {
      const ssize_t put = ::write(fd, piece.data() + done, got - done);
      if (put < 0 && errno != EINTR) throw_errno(beside);
      if (put > 0) done += static_cast<std::size_t>(put);
    }
    copied += static_cast<std::int64_t>(got);
  }
  return copied;
}

}  // namespace

MappedInput::MappedInput(RawInput& input, std::int64_t size, const std::string& beside) {
  struct stat st {};
  if (input.file_size()) {
    if (::fstat(input.descriptor(), &st) != 0) throw_errno(input.name());
    require_size(st.st_size - input.file_position(), size);
    map(input.descriptor(), input.file_position(), size, input.name());
  } else {
    const frame::UniqueFd copy = nameless_file_beside(beside);
    require_size(copy_rest(input, copy.get(), beside), size);
    map(copy.get(), 0, size, beside);
  }
}

void MappedInput::map(int fd, std::int64_t position, std::int64_t size, const std::string& name) {
  mapped_size_ = static_cast<std::size_t>(position + size);
  mapping_ = ::mmap(nullptr, mapped_size_, PROT_READ, MAP_SHARED, fd, 0);
  if (mapping_ == MAP_FAILED) throw_errno(name);
  start_ = static_cast<const std::uint8_t*>(mapping_) + position;
  end_when_input_is_lost();
}

MappedInput::~MappedInput() { ::munmap(mapping_, mapped_size_); }

MappedPiece::MappedPiece(const RawInput& input, std::int64_t position, std::size_t size) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t start = position / page * page;
  skipped_ = static_cast<std::size_t>(position - start);
  mapped_size_ = skipped_ + size;
  void* const mapping =
      ::mmap(nullptr, mapped_size_, PROT_READ, MAP_SHARED, input.descriptor(), start);
  if (mapping == MAP_FAILED) return;
  if (::madvise(mapping, mapped_size_, MADV_POPULATE_READ) == 0)
    mapping_ = static_cast<std::uint8_t*>(mapping);
  else
    ::munmap(mapping, mapped_size_);
}

MappedPiece::~MappedPiece() {
  if (is_there()) ::munmap(mapping_, mapped_size_);
}

void end_when_input_is_lost() { std::signal(SIGBUS, give_up); }

}  // namespace bloscfs::tools
