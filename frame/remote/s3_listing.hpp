#pragma once
// What object stores say in XML: listings, errors, and outcomes of copies. All of it comes from
// anywhere.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline remote {

/// No answer with 1,000 keys is longer.
inline constexpr std::uint32_t kMaxListing = std::uint32_t{8} << 20;

/// A page of a listing.
struct S3Page {
  std::vector<ObjectEntry> entries;  ///< names that are none are left out; in the store's order
  std::size_t keys = 0;              ///< and prefixes that it had, those left out included
  std::string next;                  ///< token of the page that follows; empty: there is none
};

/// Parses an answer of ListObjectsV2 for keys that begin with `prefix`. All keys of one directory
/// become one entry. Without a delimiter, the page shows all keys of the entry (`knows_inside`),
/// except for the last entry if another page follows. Skips keys of more than 1,024 bytes. Charges
/// the memory of the entries to `charge`, which may throw. Throws RemoteError(EIO) if the answer is
/// invalid.
S3Page parse_s3_listing(Bytes xml, const std::string& prefix, MemoryCharge& charge = *uncharged());

struct S3Problem {
  std::string code;     ///< a word, like "NoSuchKey"; empty if absent
  std::string message;  ///< the store's text, cut to a line; empty if absent
  std::string region;   ///< where the bucket is
};

/// Of an error's answer, whatever it is.
S3Problem parse_s3_problem(Bytes xml);
/// The code of a store that did not carry a request out since there are too many.
inline constexpr const char* kS3SlowDown = "SlowDown";

/// The status of an error answer, the store's code and message, and advice if there is some.
std::string told_problem(int status, Bytes body);

/// What AssumeRole and its like answer; words that are not there are empty.
struct StsAnswer {
  std::string access_key, secret_key, session_token, expiration;
};
StsAnswer parse_sts_answer(Bytes xml);

/// The strong ETag that a copy has; nothing where it failed, as parse_s3_problem() says.
std::optional<std::string> parse_s3_copy(Bytes xml);

/// Adds what another page shows of the same directory.
void add_inside(ObjectEntry& directory, const ObjectEntry& more);

/// An entity tag, quoted whether it came so or not; empty where it is none, or a weak one.
std::string quoted_etag(const std::string& text);

}  // namespace bloscfs::frame::inline remote
