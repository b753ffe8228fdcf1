#pragma once
// The subcommands of b2frame. Each returns the exit status: 0, or 1 if a file had bad data (then a
// line on stderr says what). Throws UsageError where the command line makes no sense for the file.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "codec/chunk_format.hpp"
#include "frame/choosing/cost.hpp"
#include "fs/options/option_values.hpp"

namespace bloscfs::tools {

inline constexpr int kExitBadData = 1;
inline constexpr int kExitBadUsage = 2;
/// Of verify, where nothing worse was found: the file needs a codec, a filter or a version that is
/// missing here, or could not be read.
inline constexpr int kExitUnsupported = 3;
inline constexpr int kExitUnreadable = 4;
/// Of diff, which has 1 for a difference.
inline constexpr int kExitTrouble = 2;
/// Of repair: something is not as it was, or not for certain; nothing was found, nor written.
inline constexpr int kExitIncomplete = 5;
inline constexpr int kExitNothingFound = 6;

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws UsageError unless that holds.
inline void require(bool holds, const char* what) {
  if (!holds) throw UsageError(what);
}

/// How URLs are read that stand where files may.
struct RemoteOptions {
  std::string cafile;  ///< certificates of whom to trust; empty: of the system's authorities
  /// Seconds in which what may pass is tried again; nothing: 60, and not until a server has
  /// answered.
  std::optional<int> retry_time;
  std::string netrc;             ///< file with users and passwords of web servers; empty: none
  std::string endpoint, region;  ///< of s3://; empty: as the environment says
  bool virtual_host = false;     ///< of s3://: the bucket stands in the host's name
  bool anonymous = false;        ///< of s3://: nothing is signed
};

struct InfoOptions {
  RemoteOptions remote;
  std::vector<std::string> files;
  bool json = false;       ///< one JSON object per file and line
  bool chunk = false;      ///< files are bare chunks
  bool recursive = false;  ///< directories mean the frames below them
  bool stats = false;      ///< tell of the numbers, too, which reads all
};
int run_info(const InfoOptions& options);

/// What happens to files of OUT that were changed after the run that made them: left, and told.
struct TreeOptions {
  bool force = false;    ///< overwritten
  bool update = false;   ///< left without a word
  bool dry_run = false;  ///< nothing is written, only told
  /// Throws UsageError.
  void require_none() const;
};

struct ExtractOptions {
  RemoteOptions remote;
  std::string file;
  std::string output;  ///< "-" for stdout
  bool chunk = false;
  bool recursive = false;              ///< a directory as a mount would show it
  TreeOptions tree;                    ///< with `recursive`
  bool npy = false;                    ///< as a NPY file
  bool json = false;                   ///< the objects of a list, one a line
  std::int64_t offset = 0;             ///< of the first byte wanted
  std::optional<std::int64_t> length;  ///< bytes; all that follow if absent
  std::int64_t start = 0;              ///< of the first item wanted; negative: from the end
  std::optional<std::int64_t> count;   ///< items; all that follow if absent
  bool text = false;                   ///< the items, as lines
  bool raw = false;                    ///< the bytes, whatever the name of OUT promises
  std::string dtype;                   ///< of the items of a flat frame, as text
  std::optional<std::string> slice;    ///< as NumPy has it; `file` may end with it in brackets
  std::optional<std::int64_t> rows;    ///< the first ones of the array, as text
  std::vector<std::string> columns;    ///< of a table; none: all
  std::string row_range;               ///< of a table, "10:20"; empty: all
};
int run_extract(const ExtractOptions& options);

struct LsOptions {
  RemoteOptions remote;
  std::vector<std::string> files;  ///< none: the working directory
  bool recursive = false;
  bool human = false;  ///< sizes in units of 1024 bytes
  bool json = false;   ///< one JSON object per frame and line
};
int run_ls(const LsOptions& options);

struct DiffOptions {
  RemoteOptions remote;
  std::string first, other;
  bool all = false;    ///< count what differs
  bool brief = false;  ///< tell whether, and nothing else
  bool meta = false;   ///< compare metalayers and how they are stored, too
};
int run_diff(const DiffOptions& options);

struct VerifyOptions {
  RemoteOptions remote;
  std::vector<std::string> files;
  bool chunk = false;
  bool recursive = false;   ///< directories mean the frames below them
  bool json = false;        ///< one JSON object per frame and line
  bool repairable = false;  ///< say what a repair would bring back
  /// Bytes that are decoded of one file at most. Absent: with `recursive` default_limit(), else
  /// all.
  std::optional<std::int64_t> limit;
};
int run_verify(const VerifyOptions& options);

struct ReportOptions {
  RemoteOptions remote;
  std::vector<std::string> files;
  std::string output;   ///< "-" for stdout
  std::string program;  ///< name and version, as the page says who made it
};
int run_report(const ReportOptions& options);

/// What a metalayer is to hold.
struct NamedLayer {
  std::string name;
  std::string file;                                  ///< read by read_metalayer_file()
  std::optional<std::vector<std::uint8_t>> content;  ///< in its place, where it was given itself
};

/// How a frame is to be stored.
struct StorageOptions {
  std::optional<fs::CodecChoice> codec;    ///< absent: zstd
  std::optional<frame::Goal> goal;         ///< codec, level and filters are to be chosen for it
  std::optional<int> clevel;               ///< absent: 3
  std::optional<fs::FilterSteps> filters;  ///< absent: shuffle, where items have several bytes
  std::optional<std::int32_t> typesize;    ///< bytes; absent: the array's, or guessed
  std::optional<std::int32_t> chunk_size, block_size;  ///< bytes
  std::optional<std::vector<std::int32_t>> chunk_shape, block_shape;
  bool dictionary = false;
  bool checksum = false;
  bool sparse = false;
  unsigned threads = 1;  ///< that encode
};

/// How comma-separated values become a table.
struct TableTextOptions {
  std::string schema;      ///< types of columns, or a file with them; empty: all are inferred
  bool no_header = false;  ///< the first line has values, not names
  std::string delimiter;   ///< one character, or "tab"; empty: by the name of the input
  bool is_given() const { return !schema.empty() || no_header || !delimiter.empty(); }
};

struct CreateOptions : StorageOptions {
  std::string input;  ///< "-" for stdin
  std::string output;
  bool flat = false;       ///< a NPY file is stored as it is
  bool recursive = false;  ///< a directory to one of frames
  TreeOptions tree;        ///< with `recursive`
  std::vector<NamedLayer> metalayers, vlmetalayers;
  TableTextOptions table;
};
int run_create(const CreateOptions& options);

struct AdviseOptions {
  std::vector<std::string> files;
  std::optional<std::int32_t> typesize;  ///< bytes, of files that are no frames and no arrays
  bool json = false;                     ///< one JSON object per file and line
  std::string picture;                   ///< SVG file to write; empty: none
  std::optional<std::string> apply;      ///< name of settings to store the frames with
};
int run_advise(const AdviseOptions& options);

struct ConvertOptions {
  /// What is absent stays as it is in each file.
  StorageOptions storage;
  std::vector<std::string> files;
  std::string output;     ///< of one file
  std::string directory;  ///< of as many as there are
  bool in_place = false;
  bool contiguous = false;  ///< of sparse frames: make them contiguous ones
};
int run_convert(const ConvertOptions& options);

struct CompactOptions {
  std::vector<std::string> files;
};
int run_compact(const CompactOptions& options);

struct PackOptions {
  std::string input;
  std::string output;
};
int run_pack(const PackOptions& options);
int run_unpack(const PackOptions& options);

struct RecoverOptions {
  std::string source;
  std::string rescue;   ///< folder of -o rescue; empty: the default one
  bool is_dry = false;  ///< only tells what there is
};
int run_recover(const RecoverOptions& options);

struct RepairOptions {
  std::string input;
  std::string output;
  bool leave_out = false;  ///< what is lost; else it is zeros
  bool force = false;      ///< a file that is there is replaced
  bool json = false;       ///< the report
};
int run_repair(const RepairOptions& options);
/// What repairs of these files would bring back: the report alone.
int run_repairable(const VerifyOptions& options);

struct GcOptions {
  RemoteOptions remote;
  std::string source;
  bool force = false;    ///< what is younger than a day goes, too
  bool dry_run = false;  ///< nothing goes
};
int run_gc(const GcOptions& options);

struct SetMetaOptions {
  std::string file;
  std::vector<NamedLayer> vlmetalayers;  ///< without a file: removed
};
int run_set_meta(const SetMetaOptions& options);

}  // namespace bloscfs::tools
