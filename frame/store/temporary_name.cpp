#include "frame/store/temporary_name.hpp"

#include <cerrno>
#include <charconv>
#include <mutex>
#include <system_error>
#include <tuple>

#include <boost/endian/conversion.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline store {
namespace {

constexpr std::string_view kPrefix = ".bloscfs-", kSuffix = ".tmp";
constexpr std::size_t kDigits = 16;
constexpr std::int64_t kNanoseconds = 1'000'000'000;

std::string name_with(std::uint64_t digits) {
  return fmt::format("{}{:016x}{}", kPrefix, digits, kSuffix);
}

/// Returns nullopt unless `text` consists of lower-case hex digits.
template <typename Number>
std::optional<Number> parse_hex(std::string_view text) {
  Number number = 0;
  if (text.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> digits_in(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits + kSuffix.size()) return std::nullopt;
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  return parse_hex<std::uint64_t>(name.substr(kPrefix.size(), kDigits));
}

template <typename Value>
void fill_randomly(Value& value) {
  if (::getrandom(&value, sizeof value, 0) != ssize_t{sizeof value}) throw_errno("getrandom");
}

using Digest = std::array<std::uint8_t, 32>;

/// Returns the HMAC-SHA256 of the message. Its length separates the two uses of a secret: 8 bytes
/// for groups of numbers, 16 for objects.
template <std::size_t secret_size, std::size_t size>
Digest authenticate(const std::array<std::uint8_t, secret_size>& secret,
                    std::array<std::uint64_t, size> message) {
  for (std::uint64_t& part : message) part = boost::endian::native_to_big(part);
  Digest digest;
  if (::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(message.data()), sizeof message, digest.data(),
             nullptr) == nullptr)
    throw_errno(ENOSYS, "HMAC");
  return digest;
}

}  // namespace

bool is_temporary_name(std::string_view name) { return digits_in(name).has_value(); }

/// Makes new names from consecutive numbers, each with its proof.
class NewNames {
 public:
  NewNames() { fill_randomly(next_); }

  std::uint64_t next() {
    const std::lock_guard lock(mutex_);
    const std::uint32_t number = next_++;
    // One HMAC gives the proofs of a group of eight numbers. It takes longer than all other steps.
    const std::uint32_t group = number / kGroup;
    if (group_ != group) proofs_ = TemporaryMaker::self().proofs_of(group);
    group_ = group;
    // For example .bloscfs-0000002a5f3c9e01.tmp: number 42 and its proof, 32 bits that only a
    // process with the secret can compute.
    return std::uint64_t{number} << 32 | proofs_[number % kGroup];
  }

 private:
  static constexpr std::uint32_t kGroup = std::tuple_size_v<TemporaryMaker::Proofs>;

  std::mutex mutex_;
  /// Wraps around only after 2^32 names. The earlier temporary with the same number is then long
  /// gone.
  std::uint32_t next_ = 0;
  std::optional<std::uint32_t> group_;
  TemporaryMaker::Proofs proofs_{};
};

std::string temporary_name() {
  static NewNames names;
  return name_with(names.next());
}

std::optional<ObjectIdentity> identity_at(int directory, const std::string& name) {
  struct statx st {};
  if (::statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_INO | STATX_BTIME,
              &st) != 0) {
    if (errno == ENOENT) return std::nullopt;
    throw_errno(name);
  }
  ObjectIdentity identity{st.stx_ino, 0};
  // Filesystems reuse inode numbers. The birth time tells the new object from the old one.
  if ((st.stx_mask & STATX_BTIME) != 0)
    identity.birth_time_ns = st.stx_btime.tv_sec * kNanoseconds + st.stx_btime.tv_nsec;
  return identity;
}

std::string displaced_name(const ObjectIdentity& identity) {
  return name_with(TemporaryMaker::self().displaced_digits(identity));
}

const TemporaryMaker& TemporaryMaker::self() {
  static const TemporaryMaker maker = [] {
    Secret secret;
    fill_randomly(secret);
    return TemporaryMaker(secret);
  }();
  return maker;
}

std::optional<TemporaryMaker> TemporaryMaker::parse(std::string_view text) {
  Secret secret;
  if (text.size() != 2 * secret.size()) return std::nullopt;
  for (std::size_t i = 0; i < secret.size(); i++) {
    const auto byte = parse_hex<std::uint8_t>(text.substr(2 * i, 2));
    if (!byte) return std::nullopt;
    secret[i] = *byte;
  }
  return TemporaryMaker(secret);
}

std::string TemporaryMaker::text() const {
  std::string text;
  for (const std::uint8_t byte : secret_) text += fmt::format("{:02x}", byte);
  return text;
}

TemporaryMaker::Proofs TemporaryMaker::proofs_of(std::uint32_t group) const {
  const Digest digest = authenticate(secret_, std::array{std::uint64_t{group}});
  Proofs proofs;
  for (std::size_t i = 0; i < proofs.size(); i++)
    proofs[i] = boost::endian::load_big_u32(digest.data() + sizeof(std::uint32_t) * i);
  return proofs;
}

std::uint64_t TemporaryMaker::displaced_digits(const ObjectIdentity& identity) const {
  const Digest digest = authenticate(
      secret_, std::array{identity.inode, static_cast<std::uint64_t>(identity.birth_time_ns)});
  return boost::endian::load_big_u64(digest.data());
}

bool TemporaryMaker::has_made(std::string_view name) const {
  const auto digits = digits_in(name);
  if (!digits) return false;
  const auto number = static_cast<std::uint32_t>(*digits >> 32);
  constexpr std::size_t kGroup = std::tuple_size_v<Proofs>;
  return proofs_of(number / kGroup)[number % kGroup] == static_cast<std::uint32_t>(*digits);
}

bool TemporaryMaker::has_displaced(std::string_view name, const ObjectIdentity& identity) const {
  // All 64 bits are the proof. The caller has the object, so the name needs no number.
  return digits_in(name) == displaced_digits(identity);
}

}  // namespace bloscfs::frame::inline store
