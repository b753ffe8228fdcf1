#include "tools/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/core.h>

#include "fs/survey/element_values.hpp"
#include "tools/progress.hpp"
#include "tools/record_fields.hpp"

namespace bloscfs::tools {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;

/// Mean, and sum of the squared distances from the mean, of parts that are merged. As exact as two
/// passes over all values (Chan, Golub, LeVeque 1979).
class Moments {
 public:
  void add(const std::vector<long double>& part) {
    if (part.empty()) return;
    const auto count = static_cast<long double>(part.size());
    long double sum = 0, squares = 0;
    for (const long double value : part) sum += value;
    const long double mean = sum / count;
    for (const long double value : part) squares += (value - mean) * (value - mean);
    const long double all = count_ + count;
    const long double delta = mean - mean_;
    mean_ = count_ == 0 ? mean : mean_ + delta * (count / all);
    squares_ += squares + (count_ == 0 ? 0 : delta * delta * (count_ / all) * count);
    count_ = all;
  }
  long double mean() const { return mean_; }
  long double deviation() const { return std::sqrt(squares_ / count_); }

 private:
  long double count_ = 0, mean_ = 0, squares_ = 0;
};

/// Returns infinities and NaN as texts, because JSON has no numbers for them.
template <typename Value>
OrderedJson number(Value value) {
  if constexpr (std::is_integral_v<Value>) {
    return value;
  } else {
    const auto rounded = static_cast<double>(value);
    if (!std::isfinite(rounded)) return fmt::format("{}", rounded);
    return rounded;
  }
}

/// The numbers of one field, or of items that are not records.
class Numbers {
 public:
  virtual ~Numbers() = default;
  /// Adds `count` items, which are `stride` bytes apart.
  virtual void add(const std::uint8_t* first, std::size_t stride, std::size_t count) = 0;
  virtual OrderedJson result() const = 0;
};

template <typename Value, typename Load>
class NumbersOf final : public Numbers {
 public:
  explicit NumbersOf(Load load) : load_(load) {}

  void add(const std::uint8_t* first, std::size_t stride, std::size_t count) override {
    part_.clear();
    for (std::size_t i = 0; i < count; i++) {
      const Value value = load_(first + i * stride);
      if constexpr (std::is_floating_point_v<Value>) {
        if (std::isnan(value)) continue;
      }
      least_ = std::min(least_, value);
      most_ = std::max(most_, value);
      zeros_ += value == 0 ? 1 : 0;
      part_.push_back(static_cast<long double>(value));
    }
    count_ += static_cast<std::int64_t>(count);
    nans_ += static_cast<std::int64_t>(count - part_.size());
    moments_.add(part_);
  }

  OrderedJson result() const override {
    OrderedJson out = {{"count", count_}, {"nan", nans_}, {"zeros", zeros_}};
    if (nans_ == count_) return out;
    out["min"] = number(least_);
    out["max"] = number(most_);
    out["mean"] = number(moments_.mean());
    out["std"] = number(moments_.deviation());
    return out;
  }

 private:
  using Limits = std::numeric_limits<Value>;
  static constexpr Value kHighest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  static constexpr Value kLowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();

  const Load load_;
  std::int64_t count_ = 0, nans_ = 0, zeros_ = 0;
  Value least_ = kHighest, most_ = kLowest;
  std::vector<long double> part_;
  Moments moments_;
};

template <typename Value, typename Load>
std::unique_ptr<Numbers> make(Load load) {
  return std::make_unique<NumbersOf<Value, Load>>(load);
}

template <typename Value>
std::unique_ptr<Numbers> make_loaded(bool is_big) {
  return make<Value>([is_big](const std::uint8_t* item) {
    std::array<std::uint8_t, sizeof(Value)> bytes{};
    std::copy_n(item, sizeof(Value), bytes.begin());
    if (is_big) std::reverse(bytes.begin(), bytes.end());
    Value value{};
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  });
}

/// Returns null if the type is not a real number.
std::unique_ptr<Numbers> numbers_of(const std::string& dtype) {
  const std::string_view type =
      std::string_view(dtype).substr(std::min<std::size_t>(1, dtype.size()));
  const bool is_big = dtype.starts_with('>');
  if (type == "i8") return make_loaded<std::int64_t>(is_big);
  if (type == "u8") return make_loaded<std::uint64_t>(is_big);
  if (type == "f16") return make_loaded<long double>(is_big);
  const auto values = fs::ElementValues::of(dtype);
  if (!values || values->is_complex()) return nullptr;
  const auto load = [values = *values](const std::uint8_t* item) { return values.value(item); };
  if (type.starts_with('f')) return make<double>(load);
  // A double holds every integer of up to four bytes exactly.
  return make<std::int64_t>(
      [load](const std::uint8_t* item) { return static_cast<std::int64_t>(load(item)); });
}

struct Counted {
  RecordField field;
  std::unique_ptr<Numbers> numbers;
};

std::vector<Counted> counted_fields(const Elements& elements) {
  std::string dtype = elements.dtype().value_or("");
  if (!elements.shape()) dtype = fmt::format("<u{}", elements.itemsize());
  auto fields = record_fields(dtype);
  if (!fields) fields = {{"", dtype, 0, static_cast<std::size_t>(elements.itemsize())}};
  std::vector<Counted> counted;
  for (RecordField& field : *fields)
    if (auto numbers = numbers_of(field.dtype))
      counted.push_back({std::move(field), std::move(numbers)});
  return counted;
}

}  // namespace

OrderedJson statistics_of(SlicedItems& items) {
  const std::vector<Counted> counted = counted_fields(items.elements());
  if (counted.empty()) return nullptr;
  const auto itemsize = static_cast<std::size_t>(items.elements().itemsize());
  Progress progress("info", items.nbytes());
  std::int64_t done = 0;
  items.read([&](codec::Bytes bytes) {
    for (const Counted& one : counted)
      one.numbers->add(bytes.data() + one.field.offset, itemsize, bytes.size() / itemsize);
    progress.update(done += std::ssize(bytes));
  });
  if (counted.front().field.name.empty()) return counted.front().numbers->result();
  OrderedJson out = OrderedJson::object();
  for (const Counted& one : counted) out[one.field.name] = one.numbers->result();
  return out;
}

std::optional<OrderedJson> statistics_of(Table& table) {
  const fs::NumpyDtype* const dtype = table.item_dtype(0);
  if (dtype == nullptr) return std::nullopt;
  const auto numbers = numbers_of(dtype->stored);
  if (!numbers) return nullptr;
  const auto itemsize = static_cast<std::size_t>(dtype->itemsize);
  Progress progress("info", table.stored_rows(), Progress::Unit::items);
  std::int64_t absent = 0;
  std::vector<std::uint8_t> items;
  const auto add = [&] {
    numbers->add(items.data(), itemsize, items.size() / itemsize);
    items.clear();
    progress.update(table.stored_row());
  };
  while (table.next_row()) {
    const codec::Bytes item = table.item(0);
    if (table.is_absent(0))
      absent++;
    else
      items.insert(items.end(), item.begin(), item.end());
    if (items.size() >= kBytesAtOnce) add();
  }
  add();
  OrderedJson out = numbers->result();
  if (table.schemas().front().is_nullable()) out["absent"] = absent;
  return out;
}

}  // namespace bloscfs::tools
