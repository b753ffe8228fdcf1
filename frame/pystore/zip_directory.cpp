#include "frame/pystore/zip_directory.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/core.h>
#include <minizip/unzip.h>

#include "codec/error.hpp"
#include "frame/pystore/window_source.hpp"

namespace bloscfs::frame {
namespace {

using codec::throw_malformed;

constexpr std::size_t kMaxEntries = std::size_t{1} << 20;
constexpr std::size_t kMaxMemberPart = 255, kMaxMemberName = 4095;
/// What is read at once: of the directory, and of local headers.
constexpr std::size_t kDirectoryWindow = std::size_t{64} << 10, kHeaderWindow = 4096;
constexpr uLong kEncrypted = 1;

/// What minizip reads through. What a source throws is kept until minizip has returned.
class ArchiveFile {
 public:
  explicit ArchiveFile(const ByteSource& source)
      : source_(source),
        size_(static_cast<std::uint64_t>(std::max<std::int64_t>(source.stamp().size, 0))) {}

  zlib_filefunc64_def functions() {
    zlib_filefunc64_def result{};
    result.zopen64_file = [](voidpf self, const void*, int) { return self; };
    result.zread_file = [](voidpf self, voidpf, void* out, uLong size) {
      return of(self).read(static_cast<std::uint8_t*>(out), size);
    };
    result.zwrite_file = [](voidpf, voidpf, const void*, uLong) { return uLong{0}; };
    result.ztell64_file = [](voidpf self, voidpf) { return ZPOS64_T{of(self).position_}; };
    result.zseek64_file = [](voidpf self, voidpf, ZPOS64_T offset, int origin) {
      return of(self).seek(offset, origin);
    };
    result.zclose_file = [](voidpf, voidpf) { return 0; };
    result.zerror_file = [](voidpf self, voidpf) { return of(self).error_ ? 1 : 0; };
    result.opaque = this;
    return result;
  }

  void set_window(std::size_t size) { window_size_ = size; }
  /// Throws what the source has thrown, if it has.
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  static ArchiveFile& of(voidpf self) { return *static_cast<ArchiveFile*>(self); }

  uLong read(std::uint8_t* out, uLong size) noexcept {
    uLong done = 0;
    try {
      while (done < size && load()) {
        const auto begin = static_cast<std::size_t>(position_ - window_at_);
        const auto part = std::min<std::size_t>(size - done, window_.size() - begin);
        std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(begin), part, out + done);
        done += part;
        position_ += part;
      }
    } catch (...) {
      error_ = std::current_exception();
    }
    return done;
  }

  /// False at the end of the source.
  bool load() {
    if (position_ >= window_at_ && position_ - window_at_ < window_.size()) return true;
    if (position_ >= size_) return false;
    // minizip looks for the end of the directory backwards.
    window_at_ = position_ - position_ % window_size_;
    window_.resize(window_size_);
    window_.resize(source_.read_at(window_at_, window_));
    return position_ - window_at_ < window_.size();
  }

  long seek(ZPOS64_T offset, int origin) {
    std::uint64_t from = 0;
    if (origin == ZLIB_FILEFUNC_SEEK_CUR) from = position_;
    if (origin == ZLIB_FILEFUNC_SEEK_END) from = size_;
    if (offset > size_ - std::min(from, size_)) return -1;
    position_ = from + offset;
    return 0;
  }

  const ByteSource& source_;
  const std::uint64_t size_;
  std::uint64_t position_ = 0;
  std::size_t window_size_ = kDirectoryWindow;
  std::uint64_t window_at_ = 0;
  std::vector<std::uint8_t> window_;
  std::exception_ptr error_;
};

/// Why a name cannot be a path below the root; null if it can.
const char* flaw(std::string_view name) {
  if (name.empty()) return "has no name";
  if (name.size() > kMaxMemberName) return "has too long a name";
  if (name.front() == '/') return "is absolute";
  if (name.find('\0') != std::string_view::npos) return "has a NUL in its name";
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return "leads out of the store, or nowhere";
    if (part.size() > kMaxMemberPart) return "has too long a name";
    at = end + 1;
  }
  return nullptr;
}

}  // namespace

bool has_zip_magic(Bytes first_bytes) {
  constexpr std::array<std::uint8_t, 4> kMember{'P', 'K', 3, 4}, kEmpty{'P', 'K', 5, 6};
  if (first_bytes.size() < kMember.size()) return false;
  return std::equal(kMember.begin(), kMember.end(), first_bytes.begin()) ||
         std::equal(kEmpty.begin(), kEmpty.end(), first_bytes.begin());
}

class ZipDirectory::Archive {
 public:
  explicit Archive(const ByteSource& source) : file_(source) {
    auto functions = file_.functions();
    handle_ = ::unzOpen2_64("", &functions);
    file_.rethrow();
    if (handle_ == nullptr) throw_malformed("ZIP file: no central directory");
  }
  ~Archive() { ::unzClose(handle_); }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  std::uint64_t entry_count() const {
    unz_global_info64 info{};
    ::unzGetGlobalInfo64(handle_, &info);
    return info.number_entry;
  }
  bool go_to_first() { return checked(::unzGoToFirstFile(handle_)); }
  bool go_to_next() { return checked(::unzGoToNextFile(handle_)); }
  /// The last step found an entry that cannot be read.
  bool is_damaged() const { return damaged_; }

  /// Nothing where the entry cannot be read.
  std::optional<ZipMember> read_member() {
    unz_file_info64 info{};
    unz64_file_pos at{};
    if (!checked(::unzGetCurrentFileInfo64(handle_, &info, name_.data(), name_.size(), nullptr, 0,
                                           nullptr, 0)) ||
        !checked(::unzGetFilePos64(handle_, &at)))
      return std::nullopt;
    ZipMember member;
    member.name.assign(name_.data(), std::min<std::size_t>(info.size_filename, name_.size()));
    member.size = info.compressed_size;
    member.full_size = info.uncompressed_size;
    member.crc = static_cast<std::uint32_t>(info.crc);
    member.is_stored = info.compression_method == 0 && (info.flag & kEncrypted) == 0;
    member.entry_at = at.pos_in_zip_directory;
    member.entry_number = at.num_of_file;
    return member;
  }

  /// Where the member's bytes begin, by its local header.
  std::uint64_t find_data(const ZipMember& member, const ByteSource& source) {
    file_.set_window(kHeaderWindow);
    const unz64_file_pos at{member.entry_at, member.entry_number};
    int method = 0, level = 0;
    if (!checked(::unzGoToFilePos64(handle_, &at)) ||
        !checked(::unzOpenCurrentFile2(handle_, &method, &level, 1)))
      throw_malformed("its local header does not agree with the central directory");
    const std::uint64_t data = ::unzGetCurrentFileZStreamPos64(handle_);
    const int extra = ::unzGetLocalExtrafield(handle_, nullptr, 0);
    ::unzCloseCurrentFile(handle_);
    file_.rethrow();
    check_name(member, data, extra, source);
    return data;
  }

 private:
  /// The name stands before the extra field, which the data follow.
  static void check_name(const ZipMember& member, std::uint64_t data, int extra,
                         const ByteSource& source) {
    const std::uint64_t behind =
        member.name.size() + static_cast<std::uint64_t>(std::max(extra, 0));
    if (extra < 0 || data < behind) throw_malformed("its local header makes no sense");
    std::vector<std::uint8_t> name(member.name.size());
    source.read_exactly_at(data - behind, name, "local header");
    if (!std::equal(name.begin(), name.end(), member.name.begin(),
                    [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); }))
      throw_malformed("its local header has another name");
  }

  bool checked(int result) {
    file_.rethrow();
    damaged_ = result != UNZ_OK && result != UNZ_END_OF_LIST_OF_FILE;
    return result == UNZ_OK;
  }

  ArchiveFile file_;
  unzFile handle_ = nullptr;
  bool damaged_ = false;
  std::vector<char> name_ = std::vector<char>(std::size_t{1} << 16);
};

ZipDirectory::ZipDirectory(std::shared_ptr<const ByteSource> source)
    : source_(std::move(source)), archive_(std::make_unique<Archive>(*source_)) {
  read_entries();
  sort_members();
}

ZipDirectory::~ZipDirectory() = default;

void ZipDirectory::read_entries() {
  const std::uint64_t count = archive_->entry_count();
  if (count == 0) return;
  std::uint64_t read = 0;
  for (bool more = archive_->go_to_first(); more; more = archive_->go_to_next()) {
    auto member = archive_->read_member();
    if (!member) break;
    if (++read > kMaxEntries)
      throw codec::Error(codec::FormatErrc::too_large,
                         fmt::format("ZIP file of more than {} members", kMaxEntries));
    add(std::move(*member));
  }
  // minizip looks for more behind 65535 entries, which a directory without ZIP64 may have.
  if (archive_->is_damaged() && read != count)
    left_out_.add(fmt::format("entries of the central directory from {} on cannot be read", read));
}

void ZipDirectory::add(ZipMember member) {
  const bool is_directory = member.name.ends_with('/');
  const char* wrong = is_directory ? nullptr : flaw(member.name);
  if (wrong != nullptr)
    left_out_.add(fmt::format("member {}: {}", member.name, wrong));
  else if (!is_directory)
    members_.push_back(std::move(member));
}

void ZipDirectory::sort_members() {
  // Of two with one name the later wins, as for Python.
  std::sort(members_.begin(), members_.end(), [](const ZipMember& a, const ZipMember& b) {
    return std::tie(a.name, b.entry_number) < std::tie(b.name, a.entry_number);
  });
  const auto repeats = [&](const ZipMember& a, const ZipMember& b) {
    if (a.name != b.name) return false;
    left_out_.add(fmt::format("member {}: another one has its name", b.name));
    return true;
  };
  members_.erase(std::unique(members_.begin(), members_.end(), repeats), members_.end());
  members_.shrink_to_fit();
}

std::size_t ZipDirectory::lower_bound(std::string_view name) const {
  const auto less = [](const ZipMember& member, std::string_view wanted) {
    return member.name < wanted;
  };
  return static_cast<std::size_t>(std::lower_bound(members_.begin(), members_.end(), name, less) -
                                  members_.begin());
}

const ZipMember* ZipDirectory::find(std::string_view name) const {
  const std::size_t at = lower_bound(name);
  return at < members_.size() && members_[at].name == name ? &members_[at] : nullptr;
}

std::shared_ptr<const ByteSource> ZipDirectory::open(const ZipMember& member) const {
  if (!member.is_stored)
    codec::throw_unsupported(fmt::format("member {} is compressed or encrypted", member.name));
  if (member.size != member.full_size)
    throw_malformed(fmt::format("member {}: {} bytes are stored as {}", member.name,
                                member.full_size, member.size));
  try {
    const std::lock_guard guard(mutex_);
    return std::make_shared<WindowSource>(source_, archive_->find_data(member, *source_),
                                          member.size);
  } catch (const codec::Error& error) {
    throw_malformed(fmt::format("member {}: {}", member.name, error.what()));
  }
}

}  // namespace bloscfs::frame
