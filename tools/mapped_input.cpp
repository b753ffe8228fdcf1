#include "tools/mapped_input.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/error.hpp"
#include "fs/support/file_error.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

void require_size(std::int64_t found, std::int64_t wanted) {
  if (found != wanted)
    codec::throw_malformed(fmt::format("{} bytes of elements instead of {}", found, wanted));
}

/// A range of addresses that a signal handler may check.
struct Mapped {
  std::atomic<std::uintptr_t> begin{0}, end{0};

  void set(const void* start, std::size_t size) {
    begin = reinterpret_cast<std::uintptr_t>(start);
    end = begin + size;
  }
  bool holds(std::uintptr_t address) const { return begin <= address && address < end; }
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

Mapped mapped_input;               ///< a program has one input
thread_local Mapped mapped_piece;  ///< each worker has one piece
std::atomic<bool> was_lost{false};
const std::size_t page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

/// Handles SIGBUS. The kernel sends it if a mapped file was truncated, or cannot be read. The
/// handler puts a page of zeros at the address, so that require_mapped_input() can end the work
/// with an error.
void replace_page(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  void* const page = static_cast<std::uint8_t*>(info->si_addr) - address % page_size;
  const bool is_ours = mapped_input.holds(address) || mapped_piece.holds(address);
  was_lost = true;
  if (!is_ours || ::mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                         0) == MAP_FAILED)
    std::signal(SIGBUS, SIG_DFL);  // the access is retried, and ends the process
}

void watch_for_loss() {
  struct sigaction wanted {};
  wanted.sa_sigaction = replace_page;
  wanted.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &wanted, nullptr);
}

frame::UniqueFd make_nameless_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  frame::UniqueFd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) throw_file_error(path, errno);
  return fd;
}

std::int64_t copy_rest(RawInput& input, int fd, const std::string& sibling_path) {
  std::vector<std::uint8_t> piece(kPiece);
  std::int64_t copied = 0;
  for (std::size_t got = kPiece; got == kPiece;) {
    got = input.read(piece);
    for (std::size_t done = 0; done < got;) {
      const ssize_t put = ::write(fd, piece.data() + done, got - done);
      if (put < 0 && errno != EINTR) throw_file_error(sibling_path, errno);
      if (put > 0) done += static_cast<std::size_t>(put);
    }
    copied += static_cast<std::int64_t>(got);
  }
  return copied;
}

}  // namespace

MappedInput::MappedInput(RawInput& input, std::int64_t size, const std::string& sibling_path) {
  struct stat st {};
  if (input.file_size()) {
    if (::fstat(input.descriptor(), &st) != 0) throw FileError(input.name(), errno);
    require_size(st.st_size - input.file_position(), size);
    map(input.descriptor(), input.file_position(), size, input.name());
  } else {
    const frame::UniqueFd copy = make_nameless_file(sibling_path);
    require_size(copy_rest(input, copy.get(), sibling_path), size);
    map(copy.get(), 0, size, sibling_path);
  }
}

void MappedInput::map(int fd, std::int64_t position, std::int64_t size, const std::string& name) {
  mapped_size_ = static_cast<std::size_t>(position + size);
  mapping_ = ::mmap(nullptr, mapped_size_, PROT_READ, MAP_SHARED, fd, 0);
  if (mapping_ == MAP_FAILED) throw FileError(name, errno);
  start_ = static_cast<const std::uint8_t*>(mapping_) + position;
  mapped_input.set(mapping_, mapped_size_);
  watch_for_loss();
}

MappedInput::~MappedInput() {
  mapped_input.set(nullptr, 0);
  ::munmap(mapping_, mapped_size_);
}

MappedPiece::MappedPiece(const RawInput& input, std::int64_t position, std::size_t size) {
  const auto page = static_cast<std::int64_t>(page_size);
  const std::int64_t start = position / page * page;
  skipped_ = static_cast<std::size_t>(position - start);
  mapped_size_ = skipped_ + size;
  void* const mapping =
      ::mmap(nullptr, mapped_size_, PROT_READ, MAP_SHARED, input.descriptor(), start);
  if (mapping == MAP_FAILED) return;
  if (::madvise(mapping, mapped_size_, MADV_POPULATE_READ) != 0) {
    ::munmap(mapping, mapped_size_);
    return;
  }
  mapping_ = static_cast<std::uint8_t*>(mapping);
  mapped_piece.set(mapping_, mapped_size_);
  // Installs the signal handler once for the process.
  static const bool once = (watch_for_loss(), true);
  static_cast<void>(once);
}

MappedPiece::~MappedPiece() {
  if (!is_mapped()) return;
  mapped_piece.set(nullptr, 0);
  ::munmap(mapping_, mapped_size_);
}

frame::UniqueFd copy_to_nameless_file(RawInput& input, const std::string& sibling_path) {
  frame::UniqueFd copy = make_nameless_file(sibling_path);
  copy_rest(input, copy.get(), sibling_path);
  return copy;
}

void require_mapped_input(const std::string& name) {
  if (was_lost) throw FileError(name, "became shorter while it was read");
}

}  // namespace bloscfs::tools
