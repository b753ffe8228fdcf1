#pragma once
// Parses what object stores send in XML: listings, errors, and outcomes of copies. None of it is
// trusted.

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
  std::vector<ObjectEntry> entries;  ///< in the store's order, without invalid names
  std::size_t keys = 0;              ///< keys and prefixes in the page, including those left out
  std::string last_key;              ///< greatest key or prefix in the page
  std::string next;                  ///< token of the next page; empty if this is the last one
};

/// Parses an answer of ListObjectsV2 for keys that begin with `prefix`. All keys of one directory
/// become one entry. Without a delimiter, the page shows all keys of the entry (`lists_all_keys`),
/// except for the last entry if another page follows. Skips keys of more than 1,024 bytes. Charges
/// the memory of the entries to `charge`, which may throw. Throws RemoteError(EIO) if the answer is
/// invalid.
S3Page parse_s3_listing(Bytes xml, const std::string& prefix, MemoryCharge& charge = *uncharged());

struct S3Problem {
  std::string code;     ///< a word, such as "NoSuchKey"; empty if absent
  std::string message;  ///< the store's text, shortened to a line; empty if absent
  std::string region;   ///< the bucket's region; empty if absent
};

/// Parses the body of an error. It may be anything.
S3Problem parse_s3_problem(Bytes xml);
/// The code of a store that did not carry out a request because it gets too many.
inline constexpr const char* kS3SlowDown = "SlowDown";

/// Returns text about an error: the status, the object store's code and message, and advice if
/// there is any. `origin`: where the request's credentials were found; empty if that is unknown.
std::string describe_problem(int status, Bytes body, const std::string& origin = {});

/// The answer to AssumeRole or AssumeRoleWithWebIdentity. Missing values are empty.
struct StsAnswer {
  std::string access_key, secret_key, session_token, expiration;
};
StsAnswer parse_sts_answer(Bytes xml);

/// Returns the strong ETag of the copy. Returns nothing if the copy failed; parse_s3_problem()
/// tells why.
std::optional<std::string> parse_s3_copy(Bytes xml);

/// Merges `more` into `directory`: two entries of one directory, each of which shows some of its
/// keys.
void merge_directory(ObjectEntry& directory, const ObjectEntry& more);

/// Returns the entity tag in quotes, which `text` may lack. Returns an empty text for a weak or
/// invalid tag.
std::string quoted_etag(const std::string& text);

}  // namespace bloscfs::frame::inline remote
