#include "frame/bloscpack/digest.hpp"

#include <algorithm>

#include <boost/endian/conversion.hpp>
#include <fmt/core.h>
#include <openssl/evp.h>
#include <zlib.h>

#include "frame/container/checksum_failure.hpp"

namespace bloscfs::frame::inline bloscpack {
namespace {

constexpr std::size_t kReadAtOnce = 256U << 10;

const EVP_MD* evp_digest(DigestKind kind) {
  switch (kind) {
    case DigestKind::md5:
      return ::EVP_md5();
    case DigestKind::sha1:
      return ::EVP_sha1();
    case DigestKind::sha224:
      return ::EVP_sha224();
    case DigestKind::sha256:
      return ::EVP_sha256();
    case DigestKind::sha384:
      return ::EVP_sha384();
    case DigestKind::sha512:
      return ::EVP_sha512();
    default:
      return nullptr;
  }
}

[[noreturn]] void throw_unavailable(DigestKind kind) {
  codec::throw_unsupported(fmt::format("digest {}: not available", digest_name(kind)));
}

}  // namespace

struct Digest::State {
  struct FreeContext {
    void operator()(EVP_MD_CTX* freed) const { ::EVP_MD_CTX_free(freed); }
  };

  DigestKind kind;
  uLong sum;
  std::unique_ptr<EVP_MD_CTX, FreeContext> context;
};

std::size_t digest_size(DigestKind kind) {
  static constexpr std::uint8_t kSizes[] = {0, 4, 4, 16, 20, 28, 32, 48, 64};
  return kSizes[static_cast<std::size_t>(kind)];
}

const char* digest_name(DigestKind kind) {
  static constexpr const char* kNames[] = {"",       "adler32", "crc32",  "md5",   "sha1",
                                           "sha224", "sha256",  "sha384", "sha512"};
  return kNames[static_cast<std::size_t>(kind)];
}

Digest::Digest(DigestKind kind) : state_(std::make_unique<State>()) {
  state_->kind = kind;
  state_->sum = kind == DigestKind::adler32 ? adler32(0, nullptr, 0) : crc32(0, nullptr, 0);
  const EVP_MD* md = evp_digest(kind);
  if (md == nullptr) return;
  state_->context.reset(::EVP_MD_CTX_new());
  if (!state_->context) throw std::bad_alloc();
  if (::EVP_DigestInit_ex(state_->context.get(), md, nullptr) != 1) throw_unavailable(kind);
}

Digest::~Digest() = default;

void Digest::update(Bytes bytes) {
  if (state_->kind == DigestKind::adler32) {
    state_->sum = adler32_z(state_->sum, bytes.data(), bytes.size());
  } else if (state_->kind == DigestKind::crc32) {
    state_->sum = crc32_z(state_->sum, bytes.data(), bytes.size());
  } else if (state_->context &&
             ::EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) != 1) {
    throw_unavailable(state_->kind);
  }
}

std::vector<std::uint8_t> Digest::finish() {
  std::vector<std::uint8_t> out(digest_size(state_->kind));
  if (state_->kind == DigestKind::adler32 || state_->kind == DigestKind::crc32) {
    boost::endian::store_little_u32(out.data(), static_cast<std::uint32_t>(state_->sum));
  } else if (state_->context &&
             ::EVP_DigestFinal_ex(state_->context.get(), out.data(), nullptr) != 1) {
    throw_unavailable(state_->kind);
  }
  return out;
}

void verify_stored_digest(const ByteSource& source, DigestKind kind, std::uint64_t offset,
                          std::uint64_t size, std::uint64_t digest_offset, const char* what) {
  if (kind == DigestKind::none) return;
  Digest digest(kind);
  std::vector<std::uint8_t> window(std::min<std::uint64_t>(size, kReadAtOnce));
  for (std::uint64_t done = 0; done < size;) {
    const std::size_t now = std::min<std::uint64_t>(size - done, window.size());
    const MutableBytes part(window.data(), now);
    source.read_exactly_at(offset + done, part, what);
    digest.update(part);
    done += now;
  }
  std::vector<std::uint8_t> stored(digest_size(kind));
  source.read_exactly_at(digest_offset, stored, what);
  if (digest.finish() != stored)
    throw ChecksumFailure(
        fmt::format("{} at {}: wrong {} of its {} bytes", what, offset, digest_name(kind), size));
}

}  // namespace bloscfs::frame::inline bloscpack
