#include "tests/fuzz/request_player.hpp"

#include <array>

namespace bloscfs::fuzz {
namespace {

constexpr int kMostRequests = 64;
/// Most requests are root's, since other users may do little with the fuzzer's files.
constexpr unsigned kKinds = 32;
constexpr uid_t kOtherUser = 1000;

constexpr unsigned kUnmount = 30, kKill = 31;

}  // namespace

RequestPlayer::End RequestPlayer::play(InputReader& input) {
  for (int requests = 0; requests < kMostRequests && !input.empty(); requests++) {
    const unsigned code = input.byte();
    user_ = code / kKinds == 7 ? kOtherUser : 0;
    const unsigned kind = code % kKinds;
    if (kind == kUnmount) return End::unmount;
    if (kind == kKill) return End::kill;
    step(kind, input);
  }
  return End::input;
}

void RequestPlayer::step(unsigned kind, InputReader& input) {
  using Step = void (RequestPlayer::*)(InputReader&);
  static constexpr auto kSteps =
      std::to_array<Step>({&RequestPlayer::look_up,        &RequestPlayer::open,
                           &RequestPlayer::read,           &RequestPlayer::write,
                           &RequestPlayer::truncate,       &RequestPlayer::allocate,
                           &RequestPlayer::sync,           &RequestPlayer::close,
                           &RequestPlayer::make_file,      &RequestPlayer::make_other,
                           &RequestPlayer::remove,         &RequestPlayer::rename,
                           &RequestPlayer::link,           &RequestPlayer::list,
                           &RequestPlayer::forget,         &RequestPlayer::look_at,
                           &RequestPlayer::set_attributes, &RequestPlayer::seek,
                           &RequestPlayer::copy,           &RequestPlayer::get_attribute,
                           &RequestPlayer::set_attribute,  &RequestPlayer::list_attributes,
                           &RequestPlayer::write,          &RequestPlayer::open});
  if (kind < kSteps.size()) return (this->*kSteps[kind])(input);
  // Changes by other programs are rare.
  if (kind != kSteps.size()) return write(input);
  source_.change(input);
  source_has_changed_ = true;
  known_.contents_unknown();
}

RequestPlayer::Reply RequestPlayer::ask(std::uint32_t opcode, std::uint64_t node,
                                        const FuseChannel::Parts& parts) {
  return channel_.ask(opcode, node, parts, user_);
}

bool RequestPlayer::enter(const Reply& reply) {
  const auto entry = reply.as<fuse_entry_out>();
  if (reply.error != 0 || entry.nodeid == 0) return false;
  known_.enter(entry);
  return true;
}

KnownNode& RequestPlayer::directory(InputReader& input) {
  return *known_.choose(input.byte(), S_IFDIR);
}

std::string RequestPlayer::name(InputReader& input) {
  static constexpr const char* kNames[] = {"a",
                                           "b",
                                           "c",
                                           "sub",
                                           "d",
                                           "e",
                                           "f",
                                           "t",
                                           "a.npy",
                                           "b.npy",
                                           "c.npy",
                                           "n.npy",
                                           "f.b2frame",
                                           "b.b2nd",
                                           "a.b2nd",
                                           "t.b2d",
                                           "chunks.b2frame",
                                           "a.b2frame.b2lock",
                                           "g.blp",
                                           ".bloscfs-lock"};
  return kNames[input.below(std::size(kNames))];
}

void RequestPlayer::close_all() {
  const auto handles = known_.handles();
  for (const KnownHandle& handle : handles) {
    fuse_release_in release{};
    release.fh = handle.number;
    release.flags = static_cast<std::uint32_t>(handle.flags);
    ask(FUSE_RELEASE, handle.node, {as_bytes(release)});
    known_.closed(handle.number);
  }
}

}  // namespace bloscfs::fuzz
