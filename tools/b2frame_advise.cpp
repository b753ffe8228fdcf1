// b2frame advise: the codec and filters that suit a file.

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "frame/header/msgpack_json.hpp"
#include "fs/support/printable.hpp"
#include "tools/advice.hpp"
#include "tools/advice_picture.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/output_file.hpp"
#include "tools/text_columns.hpp"

namespace bloscfs::tools {
namespace {

void print_advice_json(const Advice& advice) {
  nlohmann::json line = {
      {"file", advice.file}, {"contents", advice.contents}, {"sampled", advice.sampled}};
  if (advice.stored_ratio) line["ratio"] = *advice.stored_ratio;
  for (const AdvisedSettings& advised : advice.settings) {
    const MeasuredSettings& measured = advised.measured;
    line["settings"].push_back({{"options", advised.options},
                                {"ratio", measured.ratio},
                                {"encode_mb_s", measured.encode},
                                {"decode_mb_s", measured.decode},
                                {"front", measured.on_front},
                                {"marks", advised.marks}});
  }
  fmt::print("{}\n", frame::to_line(line));
}

void print_advice(const Advice& advice) {
  fmt::print("{}: {} bytes, {} of them tried", fs::printable(advice.file), advice.contents,
             advice.sampled);
  if (advice.stored_ratio) fmt::print(", stored now at {:.2f}", *advice.stored_ratio);
  fmt::print("\n");
  std::vector<std::vector<std::string>> rows{
      {"", "RATIO", "ENCODE", "DECODE", "FOR", "OPTIONS OF CREATE"}};
  for (const AdvisedSettings& advised : advice.settings) {
    const MeasuredSettings& measured = advised.measured;
    rows.push_back({measured.on_front ? "*" : "", fmt::format("{:.2f}", measured.ratio),
                    fmt::format("{:.0f}", measured.encode), fmt::format("{:.0f}", measured.decode),
                    fmt::format("{}", fmt::join(advised.marks, ",")), advised.options});
  }
  using enum Align;
  fmt::print("{}", text_columns({left, right, right, right, left, left}, rows));
}

void write_advice_picture(const Advice& advice, const std::string& path) {
  const std::string picture = advice_picture(advice);
  OutputFile out(path);
  out.write({reinterpret_cast<const std::uint8_t*>(picture.data()), picture.size()});
  out.commit();
}

}  // namespace

int run_advise(const AdviseOptions& options) {
  require(options.picture.empty() || options.files.size() == 1, "--picture is of one FILE");
  RunLimits limits;
  int status = 0;
  for (std::size_t i = 0; i < options.files.size(); i++) {
    const std::string& file = options.files[i];
    const int failed = guarded(file, [&] {
      const Advice advice = advise(file, options.typesize, limits);
      if (options.json) {
        print_advice_json(advice);
      } else {
        if (i > 0) fmt::print("\n");
        print_advice(advice);
      }
      if (!options.picture.empty()) write_advice_picture(advice, options.picture);
      return 0;
    });
    if (failed != 0) status = failed;
  }
  return status;
}

}  // namespace bloscfs::tools
