#include "frame/pystore/store_packing.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <exception>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <minizip/zip.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "codec/error.hpp"
#include "frame/pystore/store_files.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/pystore/zip_directory.hpp"
#include "frame/python/utf8.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline pystore {
namespace {

using codec::throw_malformed;

constexpr std::size_t kCopyPiece = std::size_t{1} << 20;
/// Members of at least this size get 64-bit fields, as in Python's zipfile.
constexpr std::uint64_t kZip64From = std::uint64_t{1} << 31;
/// An entry's field "version made by": Unix (3), version 2.0 of the ZIP specification (20).
constexpr uLong kMadeBy = (3 << 8) | 20;
/// Flag of an entry whose name is UTF-8.
constexpr uLong kUtf8Name = 0x800;

/// The file functions of minizip. Writes in large pieces, except when minizip goes back to a local
/// header. Keeps exceptions of the file until minizip has returned, because they must not pass
/// through its C code.
class ArchiveOutput {
 public:
  explicit ArchiveOutput(StoreFile& file) : file_(file) {}

  zlib_filefunc64_def functions() {
    zlib_filefunc64_def result{};
    result.zopen64_file = [](voidpf self, const void*, int) { return self; };
    result.zread_file = [](voidpf, voidpf, void*, uLong) { return uLong{0}; };
    result.zwrite_file = [](voidpf self, voidpf, const void* bytes, uLong size) {
      return of(self).write({static_cast<const std::uint8_t*>(bytes), size});
    };
    result.ztell64_file = [](voidpf self, voidpf) { return ZPOS64_T{of(self).position()}; };
    result.zseek64_file = [](voidpf self, voidpf, ZPOS64_T offset, int origin) {
      return of(self).seek(offset, origin);
    };
    result.zclose_file = [](voidpf self, voidpf) { return of(self).flush() ? 0 : -1; };
    result.zerror_file = [](voidpf self, voidpf) { return of(self).error_ ? 1 : 0; };
    result.opaque = this;
    return result;
  }

  /// Rethrows an exception of the file, or throws an error for a result code of minizip.
  void check(int result) {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    if (result != ZIP_OK) throw_malformed(fmt::format("ZIP file: error {} of minizip", result));
  }

 private:
  static ArchiveOutput& of(voidpf self) { return *static_cast<ArchiveOutput*>(self); }

  std::uint64_t position() const { return waiting_at_ + waiting_.size(); }

  uLong write(Bytes bytes) noexcept {
    if (error_) return 0;
    if (waiting_.size() + bytes.size() > kCopyPiece && !flush()) return 0;
    try {
      waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    } catch (...) {
      error_ = std::current_exception();
      return 0;
    }
    return bytes.size();
  }

  long seek(ZPOS64_T offset, int origin) noexcept {
    if (!flush()) return -1;
    const std::uint64_t from = origin == ZLIB_FILEFUNC_SEEK_CUR   ? waiting_at_
                               : origin == ZLIB_FILEFUNC_SEEK_END ? end_
                                                                  : 0;
    waiting_at_ = from + offset;
    return 0;
  }

  bool flush() noexcept {
    try {
      if (!waiting_.empty()) file_.write_at(waiting_at_, waiting_);
    } catch (...) {
      error_ = std::current_exception();
      return false;
    }
    waiting_at_ += waiting_.size();
    end_ = std::max(end_, waiting_at_);
    waiting_.clear();
    return true;
  }

  StoreFile& file_;
  std::uint64_t waiting_at_ = 0;  ///< where `waiting_` belongs
  std::vector<std::uint8_t> waiting_;
  std::uint64_t end_ = 0;
  std::exception_ptr error_;
};

/// A file of the store, and its path.
struct Packed {
  std::string path;
  std::uint64_t size = 0;
};

class Packer {
 public:
  Packer(const UniqueFd& directory, StoreFile& out, const CopyProgress& progress)
      : files_(make_directory_files(UniqueFd(::dup(directory.get())), nullptr)),
        out_(out),
        progress_(progress) {}

  void run() {
    collect("");
    order();
    auto functions = out_.functions();
    zip_ = ::zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions);
    if (zip_ == nullptr) out_.check(ZIP_ERRNO);
    try {
      for (const Packed& file : packed_) add(file);
    } catch (...) {
      ::zipClose(zip_, nullptr);
      throw;
    }
    out_.check(::zipClose(zip_, nullptr));
  }

 private:
  void collect(const std::string& directory) {
    // Visited after the loop, so that at most one directory is open.
    std::vector<std::string> below;
    files_->for_each(directory, [&](const StoreFiles::Item& item) {
      const std::string path = directory.empty() ? item.name : directory + "/" + item.name;
      if (item.type == StoreFiles::Type::directory) {
        below.push_back(path);
      } else if (path == kEmbedName || !is_no_leaf(item.name, directory.empty())) {
        if (item.type != StoreFiles::Type::file)
          throw_malformed(path + ": is neither a file nor a directory");
        packed_.push_back({path, static_cast<std::uint64_t>(files_->open(path)->stamp().size)});
        total_ += packed_.back().size;
      }
    });
    for (const std::string& path : below) collect(path);
  }

  /// Sorts by size, the largest file first, and embed.b2e last.
  void order() {
    const auto rank = [](const Packed& file) {
      return std::tuple(file.path == kEmbedName,
                        std::numeric_limits<std::uint64_t>::max() - file.size,
                        std::string_view(file.path));
    };
    std::sort(packed_.begin(), packed_.end(),
              [&](const Packed& a, const Packed& b) { return rank(a) < rank(b); });
    if (packed_.empty() || packed_.back().path != kEmbedName)
      throw_malformed("is not a store: it has no embed.b2e");
  }

  /// Returns local time, as the format requires. Uses the first date of the format for years
  /// outside of its range.
  static uLong dos_date(const FileStamp& stamp) {
    constexpr uLong kFirst = (1 << 21) | (1 << 16);
    const auto seconds = static_cast<std::time_t>(stamp.mtime_s);
    std::tm local{};
    if (::localtime_r(&seconds, &local) == nullptr || local.tm_year < 80 || local.tm_year > 207)
      return kFirst;
    const int date = (local.tm_year - 80) << 9 | (local.tm_mon + 1) << 5 | local.tm_mday;
    const int time = local.tm_hour << 11 | local.tm_min << 5 | local.tm_sec / 2;
    return static_cast<uLong>(date) << 16 | static_cast<uLong>(time);
  }

  void add(const Packed& file) {
    const auto source = files_->open(file.path);
    const FileStamp stamp = source->stamp();
    zip_fileinfo info{};
    info.dosDate = dos_date(stamp);
    info.external_fa = uLong{S_IFREG | 0644} << 16;
    const bool is_ascii = std::all_of(file.path.begin(), file.path.end(),
                                      [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    const uLong flags = !is_ascii && is_utf8(file.path) ? kUtf8Name : 0;
    out_.check(::zipOpenNewFileInZip4_64(
        zip_, file.path.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0, 0, -MAX_WBITS,
        DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY, nullptr, 0, kMadeBy, flags, file.size >= kZip64From));
    copy(*source, file.size);
    out_.check(::zipCloseFileInZip(zip_));
    if (static_cast<std::uint64_t>(stamp.size) != file.size || source->stamp() != stamp)
      throw_malformed(fmt::format("{}: changed while it was packed", file.path));
  }

  void copy(const ByteSource& source, std::uint64_t size) {
    for (std::uint64_t at = 0; at < size; at += piece_.size()) {
      piece_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyPiece, size - at)));
      source.read_exactly_at(at, piece_, "file");
      out_.check(::zipWriteInFileInZip(zip_, piece_.data(), static_cast<unsigned>(piece_.size())));
      done_ += piece_.size();
      progress_(done_, total_);
    }
  }

  const std::unique_ptr<const StoreFiles> files_;
  ArchiveOutput out_;
  const CopyProgress& progress_;
  zipFile zip_ = nullptr;
  std::vector<Packed> packed_;
  std::vector<std::uint8_t> piece_;
  std::uint64_t done_ = 0, total_ = 0;
};

class Unpacker {
 public:
  Unpacker(std::shared_ptr<const ByteSource> source, std::shared_ptr<StoreDirectory> out,
           const CopyProgress& progress)
      : zip_(std::move(source)), root_(std::move(out)), progress_(progress) {
    for (const ZipMember& member : zip_.members()) total_ += member.size;
  }

  void run() {
    if (!zip_.left_out().empty()) throw_malformed(zip_.left_out().messages().front());
    if (zip_.find(kEmbedName) == nullptr) throw_malformed("is not a store: it has no embed.b2e");
    for (const ZipMember& member : zip_.members()) {
      try {
        write(member);
      } catch (const codec::Error&) {
        throw;
      } catch (const std::system_error& error) {
        throw std::system_error(error.code(), member.name);
      }
    }
  }

 private:
  void write(const ZipMember& member) {
    const auto source = zip_.open(member);
    const std::size_t slash = member.name.rfind('/');
    StoreDirectory& directory =
        slash == std::string::npos ? *root_ : enter(member.name.substr(0, slash));
    const auto file = directory.create(
        slash == std::string::npos ? member.name : member.name.substr(slash + 1), 0666);
    uLong crc = ::crc32(0, nullptr, 0);
    for (std::uint64_t at = 0; at < member.size; at += piece_.size()) {
      piece_.resize(
          static_cast<std::size_t>(std::min<std::uint64_t>(kCopyPiece, member.size - at)));
      source->read_exactly_at(at, piece_, "member");
      crc = ::crc32(crc, piece_.data(), static_cast<uInt>(piece_.size()));
      file->write_at(at, piece_);
      done_ += piece_.size();
      progress_(done_, total_);
    }
    if (crc != member.crc)
      throw_malformed(
          fmt::format("member {}: CRC-32 is wrong; restore the store, or unpack it with unzip -d "
                      "DIR.b2d and repair the member",
                      member.name));
  }

  /// Opens the directory `path`, and creates it if necessary. Keeps it open for the next member,
  /// because members are sorted by name.
  StoreDirectory& enter(const std::string& path) {
    if (path == entered_path_) return *entered_;
    auto directory = root_;
    for (std::size_t at = 0; at < path.size();) {
      const std::size_t end = std::min(path.find('/', at), path.size());
      const std::string part = path.substr(at, end - at);
      if (!directory->stamp(part)) directory->make_directory(part, 0777);
      directory = directory->open_directory(part);
      at = end + 1;
    }
    entered_path_ = path;
    entered_ = std::move(directory);
    return *entered_;
  }

  const ZipDirectory zip_;
  const std::shared_ptr<StoreDirectory> root_;
  const CopyProgress& progress_;
  std::string entered_path_;
  std::shared_ptr<StoreDirectory> entered_;
  std::vector<std::uint8_t> piece_;
  std::uint64_t done_ = 0, total_ = 0;
};

}  // namespace

void pack_store(const UniqueFd& directory, StoreFile& out, const CopyProgress& progress) {
  Packer(directory, out, progress).run();
}

void unpack_store(std::shared_ptr<const ByteSource> source,
                  const std::shared_ptr<StoreDirectory>& out, const CopyProgress& progress) {
  Unpacker(std::move(source), out, progress).run();
}

}  // namespace bloscfs::frame::inline pystore
