#include "tests/model/side.hpp"

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <utility>

#include <sys/mman.h>

namespace bloscfs::test {

namespace {

thread_local sigjmp_buf copy_failed;

void leave_copy(int) { siglongjmp(copy_failed, 1); }

/// Does a memcpy. Returns EFAULT if it causes SIGBUS.
int guarded_copy(void* to, const void* from, std::size_t size) {
  struct sigaction ours {
  }, before{};
  ours.sa_handler = leave_copy;
  ours.sa_flags = SA_NODEFER;
  static const int installed = sigaction(SIGBUS, &ours, &before);
  if (installed != 0) return EINVAL;
  if (size == 0) return 0;
  if (sigsetjmp(copy_failed, 1) != 0) return EFAULT;
  std::memcpy(to, from, size);
  return 0;
}

}  // namespace

Outcome outcome_of(std::int64_t returned) {
  Outcome outcome;
  outcome.error = returned < 0 ? errno : 0;
  outcome.value = returned;
  return outcome;
}

Mapping::Mapping(int fd, std::size_t size, bool writable) : size_(size), writable_(writable) {
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* at = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) throw_errno("mmap");
  at_ = static_cast<std::uint8_t*>(at);
  struct stat st {};
  if (fstat(fd, &st) != 0) throw_errno("fstat");
  inode_ = st.st_ino;
}

Mapping::Mapping(Mapping&& other) noexcept { *this = std::move(other); }

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(at_, other.at_);
  std::swap(size_, other.size_);
  std::swap(writable_, other.writable_);
  std::swap(inode_, other.inode_);
  std::swap(fd_, other.fd_);
  return *this;
}

Mapping::~Mapping() {
  if (at_ != nullptr) munmap(at_, size_);
}

void Mapping::keep_descriptor(int fd) { fd_ = Fd(dup(fd)); }

std::size_t Mapping::file_size() const {
  struct stat st {};
  if (fstat(fd_.get(), &st) != 0) throw_errno("fstat");
  return static_cast<std::size_t>(st.st_size);
}

Outcome Mapping::read(std::size_t offset, std::size_t size) const {
  Outcome outcome;
  outcome.bytes.resize(size);
  outcome.error = guarded_copy(outcome.bytes.data(), at_ + offset, size);
  return outcome;
}

Outcome Mapping::write(std::size_t offset, const ByteVector& bytes) const {
  Outcome outcome;
  outcome.error = guarded_copy(at_ + offset, bytes.data(), bytes.size());
  return outcome;
}

Outcome Mapping::sync() const { return outcome_of(msync(at_, size_, MS_SYNC)); }

void Side::close_all() {
  for (auto& mapping : mappings) mapping = Mapping();
  for (auto& file : files) file = OpenFile();
}

}  // namespace bloscfs::test
