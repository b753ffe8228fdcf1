#pragma once
// The subcommands of b2frame. Each returns the exit status: 0, or 1 if a file has bad data, which a
// line on stderr explains. Throws UsageError if the command line does not fit the file.

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
/// Exit status of verify, if it found nothing worse: the file needs a codec, a filter or a format
/// version that is missing here.
inline constexpr int kExitUnsupported = 3;
/// Exit status of verify, if it found no damage: the file could not be read, or needs too much
/// memory or work.
inline constexpr int kExitUnreadable = 4;
/// Exit status of diff for an error. For a difference, diff returns 1.
inline constexpr int kExitTrouble = 2;
/// Exit status of repair: the new file was written, but parts are lost, doubtful or guessed.
inline constexpr int kExitIncomplete = 5;
/// Exit status of repair: it found nothing to bring back, and wrote no file.
inline constexpr int kExitNothingFound = 6;

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws UsageError with the text `what` unless `holds` is true.
inline void require(bool holds, const char* what) {
  if (!holds) throw UsageError(what);
}

/// How to read URLs that are given in place of files.
struct RemoteOptions {
  std::string cafile;  ///< trusted certificates; empty: the system's
  /// Seconds for which temporary errors are retried. Absent: 60, but then errors before a server's
  /// first answer are not retried.
  std::optional<int> retry_time;
  std::string netrc;  ///< users and passwords of web servers; empty: none
  /// For s3:// URLs. If empty: Amazon's endpoint for the region, and the region that the
  /// environment names.
  std::string endpoint, region;
  bool virtual_host = false;  ///< for s3://: the bucket is a part of the host name
  bool anonymous = false;     ///< for s3://: requests are not signed
};

struct InfoOptions {
  RemoteOptions remote;
  std::vector<std::string> files;
  bool json = false;       ///< one JSON object per file and line
  bool chunk = false;      ///< files are bare chunks
  bool recursive = false;  ///< directories stand for the frames below them
  bool stats = false;      ///< also statistics of values, which reads all contents
};
int run_info(const InfoOptions& options);

/// What to do with files of OUT that were changed after the run that made them. By default, they
/// stay and are reported.
struct TreeOptions {
  bool force = false;    ///< overwrite the changed files
  bool update = false;   ///< leave the changed files, without a message
  bool dry_run = false;  ///< write nothing, only print what would be done
  /// Throws UsageError if an option is set.
  void require_none() const;
};

struct ExtractOptions {
  RemoteOptions remote;
  std::string file;
  std::string output;  ///< "-" for stdout
  bool chunk = false;
  bool recursive = false;              ///< write a directory as a mount would show it
  TreeOptions tree;                    ///< used with `recursive`
  bool npy = false;                    ///< as a NPY file
  bool json = false;                   ///< as JSON: a table, records, or a list of objects
  std::int64_t offset = 0;             ///< of the first byte to write
  std::optional<std::int64_t> length;  ///< bytes; absent: up to the end
  std::int64_t start = 0;              ///< first item to write; negative: counted from the end
  std::optional<std::int64_t> count;   ///< items; absent: up to the end
  bool text = false;                   ///< items as lines of text
  bool raw = false;                    ///< bytes, whatever format the name of OUT implies
  std::string dtype;                 ///< item type of a flat frame, whose items are written as text
  std::optional<std::string> slice;  ///< in NumPy syntax; `file` may end with it
  std::optional<std::int64_t> rows;  ///< only the first rows, as text
  std::vector<std::string> columns;  ///< of a table or of records; empty: all
  std::string row_range;             ///< of a table, such as "10:20"; empty: all
};
int run_extract(const ExtractOptions& options);

struct LsOptions {
  RemoteOptions remote;
  std::vector<std::string> files;  ///< empty: the working directory
  bool recursive = false;
  bool human = false;  ///< sizes in units of 1024 bytes
  bool json = false;   ///< one JSON object per frame and line
};
int run_ls(const LsOptions& options);

struct DiffOptions {
  RemoteOptions remote;
  std::string first, other;
  bool all = false;    ///< count the differing items
  bool brief = false;  ///< print only whether there is a difference
  bool meta = false;   ///< also compare metalayers and how data are stored
};
int run_diff(const DiffOptions& options);

struct VerifyOptions {
  RemoteOptions remote;
  std::vector<std::string> files;
  bool chunk = false;
  bool recursive = false;   ///< directories stand for the frames below them
  bool json = false;        ///< one JSON object per frame and line
  bool repairable = false;  ///< report what a repair would bring back
  /// Maximum number of bytes to decode of one file. Absent: default_limit() with `recursive`, else
  /// no limit.
  std::optional<std::int64_t> limit;
};
int run_verify(const VerifyOptions& options);

struct ReportOptions {
  RemoteOptions remote;
  std::vector<std::string> files;
  std::string output;   ///< "-" for stdout
  std::string program;  ///< name and version, for the page
};
int run_report(const ReportOptions& options);

/// The new contents of a metalayer.
struct NamedLayer {
  std::string name;
  std::string file;                                  ///< read by read_metalayer_file()
  std::optional<std::vector<std::uint8_t>> content;  ///< used instead of the file
};

/// How to store a frame. The defaults named here are those of create.
struct StorageOptions {
  std::optional<fs::CodecChoice> codec;    ///< absent: zstd
  std::optional<frame::Goal> goal;         ///< choose codec, level and filters for this goal
  std::optional<int> clevel;               ///< absent: 3
  std::optional<fs::FilterSteps> filters;  ///< absent: shuffle, if items have several bytes
  std::optional<std::int32_t> typesize;    ///< bytes; absent: the array's, or a guess
  std::optional<std::int32_t> chunk_size, block_size;  ///< bytes
  std::optional<std::vector<std::int32_t>> chunk_shape, block_shape;
  bool dictionary = false;
  bool checksum = false;
  bool sparse = false;
  unsigned threads = 1;  ///< for encoding
};

/// How to read comma-separated values as a table.
struct TableTextOptions {
  std::string schema;      ///< column types, or a file with them; empty: infer
  bool no_header = false;  ///< the first line has values, not column names
  std::string delimiter;   ///< one character, or "tab"; empty: by the input's name
  bool is_given() const { return !schema.empty() || no_header || !delimiter.empty(); }
};

struct CreateOptions : StorageOptions {
  std::string input;  ///< "-" for stdin
  std::string output;
  bool flat = false;       ///< store a NPY file as plain bytes
  bool recursive = false;  ///< a directory becomes a tree of frames
  TreeOptions tree;        ///< used with `recursive`
  std::vector<NamedLayer> metalayers, vlmetalayers;
  TableTextOptions table;
};
int run_create(const CreateOptions& options);

struct AdviseOptions {
  std::vector<std::string> files;
  std::optional<std::int32_t> typesize;  ///< bytes; for files that are neither frames nor arrays
  bool json = false;                     ///< one JSON object per file and line
  std::string picture;                   ///< SVG file to write; empty: none
  std::optional<std::string> apply;      ///< name of the settings to store the frames with
};
int run_advise(const AdviseOptions& options);

struct ConvertOptions {
  /// Each file keeps its own value for an option that is absent.
  StorageOptions storage;
  std::vector<std::string> files;
  std::string output;     ///< for one file
  std::string directory;  ///< for any number of files
  bool in_place = false;
  bool contiguous = false;  ///< make sparse frames contiguous
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
  std::string rescue;   ///< folder of -o rescue; empty: the default folder
  bool is_dry = false;  ///< only print what can be recovered
};
int run_recover(const RecoverOptions& options);

struct RepairOptions {
  std::string input;
  std::string output;
  bool leave_out = false;  ///< leave out lost chunks; else they become zeros
  bool force = false;      ///< replace an existing file
  bool json = false;       ///< print the report as JSON
};
int run_repair(const RepairOptions& options);
/// Prints what a repair of each file would bring back, but writes no files. Returns the highest of
/// the exit statuses that run_repair() would return.
int run_repairable(const VerifyOptions& options);

struct GcOptions {
  RemoteOptions remote;
  std::string source;
  bool force = false;    ///< also remove leftovers that are younger than a day
  bool dry_run = false;  ///< remove nothing, only print
};
int run_gc(const GcOptions& options);

struct SetMetaOptions {
  std::string file;
  std::vector<NamedLayer> vlmetalayers;  ///< a layer without contents is removed
};
int run_set_meta(const SetMetaOptions& options);

}  // namespace bloscfs::tools
