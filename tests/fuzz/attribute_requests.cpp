// Requests on extended attributes.

#include <algorithm>

#include <sys/xattr.h>

#include "tests/fuzz/request_player.hpp"

namespace bloscfs::fuzz {
namespace {

constexpr std::uint32_t kMostValue = 64U << 10;

std::string choose_name(InputReader& input) {
  static constexpr const char* kNames[] = {"user.blosc2.meta.m",
                                           "user.blosc2.vlmeta.v",
                                           "user.blosc2.json.v",
                                           "user.blosc2.json.w",
                                           "user.blosc2.vlmeta.vlmeta1",
                                           "user.blosc2.meta.b2nd",
                                           "user.blosc2.vlmeta.bloscfs.xxh3",
                                           "user.blosc2.nbytes",
                                           "user.blosc2.filters",
                                           "user.blosc2.shape",
                                           "user.blosc2.meta.",
                                           "user.other",
                                           "trusted.other",
                                           "system.posix_acl_access"};
  return kNames[input.below(std::size(kNames))];
}

bool is_metalayer(const std::string& name) {
  return name.starts_with("user.blosc2.meta.") || name.starts_with("user.blosc2.vlmeta.");
}

std::string choose_value(InputReader& input) {
  static constexpr const char* kTexts[] = {"{\"a\": [1, 2.5, null, \"x\"]}",
                                           "1",
                                           "-",
                                           "[[[[]]]]",
                                           "\"\\ud800\"",
                                           "18446744073709551616"};
  const std::uint8_t choice = input.byte();
  if (choice % 4 == 0) return kTexts[choice / 4U % std::size(kTexts)];
  if (choice % 16 == 1) return std::string(input.word(), 'v');
  const codec::Bytes bytes = input.bytes(choice / 4U);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

void RequestPlayer::get_attribute(InputReader& input) {
  const std::uint64_t node = known_.choose(input.byte()).id;
  const std::uint32_t size = input.below(4) == 0 ? 0 : kMostValue;
  ask(FUSE_GETXATTR, node, {as_bytes(fuse_getxattr_in{size, 0}), as_bytes(choose_name(input))});
}

void RequestPlayer::set_attribute(InputReader& input) {
  static constexpr std::uint32_t kFlags[] = {0, 0, XATTR_CREATE, XATTR_REPLACE};
  const std::uint64_t node = known_.choose(input.byte()).id;
  const std::string name = choose_name(input);
  const std::string value = choose_value(input);
  struct {  // the shorter form, which a kernel sends unless the longer one was agreed on
    std::uint32_t size, flags;
  } set{static_cast<std::uint32_t>(value.size()), kFlags[input.below(std::size(kFlags))]};
  const codec::Bytes bytes(reinterpret_cast<const std::uint8_t*>(value.data()), value.size());
  const Reply reply = ask(FUSE_SETXATTR, node, {as_bytes(set), as_bytes(name), bytes});
  if (reply.error != 0 || source_has_changed_ || !is_metalayer(name)) return;
  const Reply now =
      ask(FUSE_GETXATTR, node, {as_bytes(fuse_getxattr_in{kMostValue, 0}), as_bytes(name)});
  if (now.error != 0 || !std::equal(now.bytes.begin(), now.bytes.end(), bytes.begin(), bytes.end()))
    fail(name + " is not what was set");
}

void RequestPlayer::list_attributes(InputReader& input) {
  const std::uint64_t node = known_.choose(input.byte()).id;
  if (input.below(2) == 0)
    ask(FUSE_LISTXATTR, node, {as_bytes(fuse_getxattr_in{kMostValue, 0})});
  else
    ask(FUSE_REMOVEXATTR, node, {as_bytes(choose_name(input))});
}

}  // namespace bloscfs::fuzz
