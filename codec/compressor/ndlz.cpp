#include "codec/compressor/ndlz.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <boost/endian/conversion.hpp>

namespace bloscfs::codec {
namespace {

constexpr std::size_t kHeaderSize = 9;
constexpr std::uint8_t kDimensions = 2;
constexpr std::size_t kLargestSide = 8;
constexpr std::size_t kLargestCell = kLargestSide * kLargestSide;
constexpr std::size_t kMaxOffset = 65535;

constexpr std::uint8_t kLiteralToken = 0x00;
constexpr std::uint8_t kFillToken = 0x40;
constexpr std::uint8_t kMatchToken = 0xC0;

/// A token for rows of a cell that occur earlier in the stream; bit r stands for row r.
struct RowToken {
  std::uint8_t token;
  std::uint8_t rows;
};

/// Tokens for two pairs of rows, each copied from its own offset. `rows` is the first pair.
constexpr RowToken kTwoPairs[] = {{0x28, 0b0011}, {0x30, 0b0101}, {0x38, 0b1001}};
/// Tokens for `rows` that are copied from one offset. The other rows follow as they are. First
/// cells of side 4, then of side 8.
constexpr RowToken kRows4[] = {{0x80, 0b1100}, {0x88, 0b0011}, {0x90, 0b0101}, {0x98, 0b1001},
                               {0xB0, 0b0110}, {0xB8, 0b1010}, {0xE0, 0b1110}, {0xE8, 0b0111},
                               {0xF0, 0b1011}, {0xF8, 0b1101}};
constexpr std::uint8_t kPair8 = 0x88, kLastPair8 = 0x8E;      // rows r and r + 1
constexpr std::uint8_t kTriple8 = 0xA8, kLastTriple8 = 0xAD;  // rows r to r + 2

/// Returns the rows that a token copies from one place; 0 if there is no such token.
std::uint8_t matched_rows(std::size_t side, std::uint8_t token) {
  if (side == 4) {
    const auto* const found = std::find_if(std::begin(kRows4), std::end(kRows4),
                                           [&](RowToken row) { return row.token == token; });
    return found == std::end(kRows4) ? std::uint8_t{0} : found->rows;
  }
  if (token >= kPair8 && token <= kLastPair8)
    return static_cast<std::uint8_t>(0b11 << (token - kPair8));
  if (token >= kTriple8 && token <= kLastTriple8)
    return static_cast<std::uint8_t>(0b111 << (token - kTriple8));
  return 0;
}

/// Returns the first pair of rows of a token for two pairs; 0 for another token.
std::uint8_t first_pair(std::size_t side, std::uint8_t token) {
  for (const RowToken& row : kTwoPairs)
    if (side == 4 && row.token == token) return row.rows;
  return 0;
}

/// The place of a cell in the block.
struct CellPlace {
  std::size_t at;  ///< offset of its first byte
  std::size_t height, width;
};

/// Calls `visit` for each cell until one call returns false. Returns true if no call did.
template <typename Visit>
bool for_each_cell(std::size_t rows, std::size_t columns, std::size_t side, Visit visit) {
  for (std::size_t y = 0; y < rows; y += side) {
    for (std::size_t x = 0; x < columns; x += side) {
      const CellPlace cell{y * columns + x, std::min(side, rows - y), std::min(side, columns - x)};
      if (!visit(cell)) return false;
    }
  }
  return true;
}

class NdlzReader {
 public:
  NdlzReader(Bytes in, std::size_t side, MutableBytes out) : in_(in), side_(side), out_(out) {}

  bool read(const BlockShape& shape) {
    if (in_.size() < kHeaderSize || in_[0] != kDimensions) return false;
    const std::int64_t rows = load_int32(in_, 1), columns = load_int32(in_, 5);
    if (rows < 0 || columns < 0 || rows * columns != static_cast<std::int64_t>(out_.size()))
      return false;
    const auto known = shape.extents();
    if (shape.is_known() && (known.size() != 2 || known[0] != rows || known[1] != columns))
      return false;
    columns_ = static_cast<std::size_t>(columns);
    next_ = kHeaderSize;
    return for_each_cell(static_cast<std::size_t>(rows), columns_, side_,
                         [this](const CellPlace& cell) { return read_cell(cell); });
  }

 private:
  bool read_cell(const CellPlace& cell) {
    token_at_ = next_;
    const auto token = take(1);
    if (!token) return false;
    const std::size_t size = cell.height * cell.width;
    switch ((*token)[0]) {
      case kLiteralToken:
        return put(cell, take(size));
      case kFillToken:
        return fill(cell, take(1));
      case kMatchToken:
        return put(cell, take_reference(size));
      default:
        return cell.height == side_ && cell.width == side_ && read_rows(cell, (*token)[0]);
    }
  }

  bool read_rows(const CellPlace& cell, std::uint8_t token) {
    const std::uint8_t pair = first_pair(side_, token);
    const std::uint8_t rows = pair != 0 ? pair : matched_rows(side_, token);
    if (rows == 0) return false;
    const auto matched = static_cast<std::size_t>(std::popcount(rows));
    // `there` are the matched rows, `rest` the other rows of the cell.
    const auto there = take_reference(matched * side_);
    const std::size_t others = (side_ - matched) * side_;
    const auto rest = pair != 0 ? take_reference(others) : take(others);
    if (!there || !rest) return false;
    put_rows(cell, rows, *there, *rest);
    return true;
  }

  void put_rows(const CellPlace& cell, std::uint8_t rows, Bytes matched, Bytes others) {
    for (std::size_t row = 0; row < side_; ++row) {
      Bytes& from = (rows >> row & 1) != 0 ? matched : others;
      std::memcpy(out_.data() + cell.at + row * columns_, from.data(), side_);
      from = from.subspan(side_);
    }
  }

  bool put(const CellPlace& cell, std::optional<Bytes> bytes) {
    if (!bytes) return false;
    for (std::size_t row = 0; row < cell.height; ++row)
      std::memcpy(out_.data() + cell.at + row * columns_, bytes->data() + row * cell.width,
                  cell.width);
    return true;
  }

  bool fill(const CellPlace& cell, std::optional<Bytes> value) {
    if (!value) return false;
    for (std::size_t row = 0; row < cell.height; ++row)
      std::memset(out_.data() + cell.at + row * columns_, (*value)[0], cell.width);
    return true;
  }

  std::optional<Bytes> take(std::size_t size) {
    if (size > in_.size() - next_) return std::nullopt;
    return in_.subspan(std::exchange(next_, next_ + size), size);
  }

  /// Reads an offset of two bytes. Returns bytes of the stream that lie so far before the token.
  std::optional<Bytes> take_reference(std::size_t size) {
    const auto field = take(2);
    if (!field) return std::nullopt;
    const std::size_t offset = boost::endian::load_little_u16(field->data());
    if (offset > token_at_ || size > in_.size() - (token_at_ - offset)) return std::nullopt;
    return in_.subspan(token_at_ - offset, size);
  }

  const Bytes in_;
  const std::size_t side_;
  const MutableBytes out_;
  std::size_t columns_ = 0;
  std::size_t next_ = 0;      ///< offset of the next byte to read
  std::size_t token_at_ = 0;  ///< offset of the present cell's token; references count from there
};

class NdlzDecompressor final : public Decompressor {
 public:
  bool decompress(Bytes in, const CodecUse& use, MutableBytes out) override {
    return (use.meta == 4 || use.meta == 8) && NdlzReader(in, use.meta, out).read(use.shape);
  }
};

/// Maps the bytes of literal cells to their place in the stream. A later cell replaces an earlier
/// one.
class CellTable {
 public:
  /// Returns the place of an equal cell before `token_at` that an offset can reach; 0 if there is
  /// none, and then stores `place` for this cell.
  std::size_t exchange(Bytes cell, Bytes stream, std::size_t token_at, std::size_t place) {
    std::size_t& known = places_[hash(cell)];
    if (known != 0 && token_at - known <= kMaxOffset &&
        std::memcmp(stream.data() + known, cell.data(), cell.size()) == 0)
      return known;
    known = place;
    return 0;
  }

 private:
  static constexpr int kBits = 12;

  static std::size_t hash(Bytes cell) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < cell.size(); i += 8)
      sum = (sum ^ boost::endian::load_little_u64(cell.data() + i)) * 0x9E3779B97F4A7C15;
    return static_cast<std::size_t>(sum >> (64 - kBits));
  }

  std::array<std::size_t, std::size_t{1} << kBits> places_{};
};

class NdlzWriter {
 public:
  NdlzWriter(Bytes in, std::size_t columns, std::size_t side, MutableBytes out)
      : in_(in), columns_(columns), side_(side), out_(out) {}

  /// Returns the bytes written, or 0 if they do not fit.
  std::size_t write() {
    if (out_.size() < kHeaderSize) return 0;
    const std::size_t rows = in_.size() / columns_;
    out_[0] = kDimensions;
    boost::endian::store_little_u32(out_.data() + 1, static_cast<std::uint32_t>(rows));
    boost::endian::store_little_u32(out_.data() + 5, static_cast<std::uint32_t>(columns_));
    next_ = kHeaderSize;
    const bool fits = for_each_cell(rows, columns_, side_,
                                    [this](const CellPlace& cell) { return write_cell(cell); });
    return fits ? next_ : 0;
  }

 private:
  bool write_cell(const CellPlace& place) {
    std::array<std::uint8_t, kLargestCell> bytes;
    const std::size_t size = place.height * place.width;
    for (std::size_t row = 0; row < place.height; ++row)
      std::memcpy(bytes.data() + row * place.width, in_.data() + place.at + row * columns_,
                  place.width);
    const Bytes cell = Bytes(bytes).first(size);
    // As in other writers, cells that the edge cuts off are always literals.
    if (size < side_ * side_) return put(kLiteralToken, cell);
    if (std::all_of(cell.begin(), cell.end(), [&](std::uint8_t b) { return b == cell[0]; }))
      return put(kFillToken, cell.first(1));
    const std::size_t known = cells_.exchange(cell, out_, next_, next_ + 1);
    if (known == 0) return put(kLiteralToken, cell);
    std::uint8_t offset[2];
    boost::endian::store_little_u16(offset, static_cast<std::uint16_t>(next_ - known));
    return put(kMatchToken, offset);
  }

  bool put(std::uint8_t token, Bytes bytes) {
    if (out_.size() - next_ < 1 + bytes.size()) return false;
    out_[next_] = token;
    std::memcpy(out_.data() + next_ + 1, bytes.data(), bytes.size());
    next_ += 1 + bytes.size();
    return true;
  }

  const Bytes in_;
  const std::size_t columns_;
  const std::size_t side_;
  const MutableBytes out_;
  std::size_t next_ = 0;
  CellTable cells_;
};

class NdlzCompressor final : public Compressor {
 public:
  std::size_t compress(Bytes in, const CodecUse& use, MutableBytes out) override {
    const std::size_t side = use.meta;
    if (!ndlz_problem(use, static_cast<std::int64_t>(in.size())).empty() || in.size() < side * side)
      return 0;
    return NdlzWriter(in, static_cast<std::size_t>(use.shape.extents()[1]), side, out).write();
  }
};

}  // namespace

std::string ndlz_problem(const CodecUse& use, std::int64_t size) {
  if (use.meta != 4 && use.meta != 8)
    return "takes cells of 4 or 8, not " + std::to_string(use.meta);
  if (use.shape.is_known() && use.shape.extents().size() != 2)
    return "takes 2 dimensions, not " + std::to_string(use.shape.extents().size());
  return use.shape.problem(1, size);
}

std::unique_ptr<Decompressor> make_ndlz_decompressor() {
  return std::make_unique<NdlzDecompressor>();
}

std::unique_ptr<Compressor> make_ndlz_compressor(int) { return std::make_unique<NdlzCompressor>(); }

}  // namespace bloscfs::codec
