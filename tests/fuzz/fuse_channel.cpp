#include "tests/fuzz/fuse_channel.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <sys/socket.h>
#include <unistd.h>

namespace bloscfs::fuzz {
namespace {

constexpr std::uint32_t kOffered = FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC | FUSE_BIG_WRITES |
                                   FUSE_EXPORT_SUPPORT | FUSE_DONT_MASK | FUSE_AUTO_INVAL_DATA |
                                   FUSE_DO_READDIRPLUS | FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES |
                                   FUSE_HANDLE_KILLPRIV_V2;

void require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::abort();
}

/// A reply is one message of the socket. Splicing would split it.
void begin_session(void*, fuse_conn_info* connection) {
  connection->max_write = FuseChannel::kMostBytes;
  connection->want &=
      ~static_cast<unsigned>(FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_SPLICE_READ);
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops ops{};
  ops.init = begin_session;
  fs::add_lookup_operations(ops);
  fs::add_file_operations(ops);
  fs::add_directory_operations(ops);
  fs::add_attribute_operations(ops);
  fs::add_namespace_operations(ops);
  fs::add_control_operations(ops);
  return ops;
}

}  // namespace

FuseChannel::FuseChannel() {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  kernel_ = ends[0];
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  fuse_opt_add_arg(&arguments, "fuzz");
  const fuse_lowlevel_ops ops = operations();
  state_.slots = &slots_;
  state_.kernel_readahead = &kernel_readahead_;
  state_.session = fuse_session_new(&arguments, &ops, sizeof ops, &state_);
  fuse_opt_free_args(&arguments);
  require(state_.session != nullptr, "fuse_session_new");
  const std::string place = "/dev/fd/" + std::to_string(ends[1]);
  require(fuse_session_mount(state_.session, place.c_str()) == 0, "fuse_session_mount");
  state_.channel = &channel_.emplace(state_.session, pages_);
  fuse_init_in init{};
  init.major = FUSE_KERNEL_VERSION;
  init.minor = FUSE_KERNEL_MINOR_VERSION;
  init.max_readahead = kMostBytes;
  init.flags = kOffered;
  require(ask(FUSE_INIT, 0, {as_bytes(init)}).error == 0, "FUSE_INIT");
}

std::uint64_t FuseChannel::send(std::uint32_t opcode, std::uint64_t node, const Parts& parts,
                                uid_t user) {
  fuse_in_header header{};
  header.len = sizeof header;
  for (const codec::Bytes& part : parts) header.len += static_cast<std::uint32_t>(part.size());
  header.opcode = opcode;
  header.unique = last_unique_ += 2;
  header.nodeid = node;
  header.uid = header.gid = user;
  header.pid = static_cast<std::uint32_t>(::getpid());
  message_.assign(as_bytes(header).begin(), as_bytes(header).end());
  for (const codec::Bytes& part : parts) message_.insert(message_.end(), part.begin(), part.end());
  require(::send(kernel_, message_.data(), message_.size(), 0) >= 0, "send");
  require(channel_->serve_one() == 0, "serve_one");
  return header.unique;
}

/// Skips notifications that come before the reply.
FuseChannel::Reply FuseChannel::receive(std::uint64_t unique) {
  for (;;) {
    message_.resize(kMostBytes + 4096);
    const ssize_t size = ::recv(kernel_, message_.data(), message_.size(), 0);
    if (size < 0 && errno == EINTR) continue;  // the fuzzer's timer
    require(size >= static_cast<ssize_t>(sizeof(fuse_out_header)), "recv");
    fuse_out_header header{};
    std::memcpy(&header, message_.data(), sizeof header);
    require(header.len == static_cast<std::size_t>(size), "a reply's length");
    if (header.unique == 0) continue;
    require(header.unique == unique, "a reply to another request");
    return {-header.error, {message_.begin() + sizeof header, message_.begin() + size}};
  }
}

FuseChannel::Reply FuseChannel::ask(std::uint32_t opcode, std::uint64_t node, const Parts& parts,
                                    uid_t user) {
  return receive(send(opcode, node, parts, user));
}

void FuseChannel::tell(std::uint32_t opcode, std::uint64_t node, const Parts& parts) {
  send(opcode, node, parts, 0);
}

}  // namespace bloscfs::fuzz
