// b2frame create: compresses bytes, arrays, tables or trees.

#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "frame/open/open.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/create_archive.hpp"
#include "tools/create_plan.hpp"
#include "tools/create_table.hpp"
#include "tools/create_tree.hpp"
#include "tools/creation.hpp"
#include "tools/frame_output.hpp"
#include "tools/input.hpp"
#include "tools/metalayer_file.hpp"
#include "tools/progress.hpp"
#include "tools/promised_format.hpp"
#include "tools/raw_input.hpp"

namespace bloscfs::tools {
namespace {

void refuse_same_file(const CreateOptions& options) {
  std::error_code error;
  if (std::filesystem::equivalent(options.input, options.output, error) && !error)
    throw UsageError("input and output are the same file");
}

/// Returns the names of OUT that would make more of the input than a frame of its bytes; empty for
/// other inputs.
std::string_view better_names(const CreateOptions& options) {
  const std::string suffix = promised_suffix(options.input);
  if (options.flat) return "";
  if (suffix == ".npz") return "-o OUT/ or -o OUT.b2z makes arrays";
  return suffix == ".csv" || suffix == ".tsv" ? "-o OUT.b2z makes a table" : "";
}

constexpr const char* kIsFrame =
    "is a frame already; b2frame convert stores it in another way, and b2frame extract writes its "
    "contents";

bool is_frame(const std::string& path) {
  try {
    return frame::open_path(path, {}) != nullptr;
  } catch (const std::exception&) {
    return false;
  }
}

void require_name(const CreateOptions& options, bool is_array) {
  // With metalayers, the frame can be an EmbedStore, whose file has the suffix .b2e.
  if (options.flat || (!options.metalayers.empty() && promised_suffix(options.output) == ".b2e"))
    return;
  const std::string_view better = better_names(options);
  try {
    require_frame_name(options.output, is_array,
                       has_store_suffix(options.output)
                           ? "; only a .csv, .tsv or .npz file, or --schema, makes a store"
                       : better.empty() ? "; --flat allows any name"
                                        : fmt::format("; {}", better));
  } catch (const UsageError&) {
    // Another name would give a frame with a frame in it.
    if (is_frame(options.input)) throw UsageError(kIsFrame);
    throw;
  }
}

int create(const CreateOptions& options) {
  refuse_same_file(options);
  if (is_archive(options)) {
    create_archive(options);
    return 0;
  }
  if (makes_table(options)) return create_table(options);
  require(!options.table.is_given(),
          "--schema, --no-header and --delimiter are for tables, OUT.b2z or OUT.b2d");
  if (std::filesystem::is_directory(options.input))
    throw std::runtime_error(is_frame(options.input)
                                 ? kIsFrame
                                 : "is a directory; -r makes a tree of frames of its files");
  RawInput input(options.input);
  CreatePlan plan = make_plan(options, input.peek(plan_sample(options)), input.file_size());
  require_name(options, plan.npy.has_value());
  require_replaceable(options.output, OutputKind::frame);
  for (const NamedLayer& layer : options.metalayers)
    plan.frame.metalayers.push_back({layer.name, content_of(layer)});
  FrameOutput out(options.output, options.sparse, plan.frame, mode_of_input(options.input));
  for (const NamedLayer& layer : options.vlmetalayers)
    out.set_vlmetalayer(layer.name, content_of(layer));
  Progress progress("create", plan.npy ? plan.npy->nbytes : input.file_size().value_or(0));
  CreationSettings settings;
  settings.threads = options.threads;
  settings.sibling_path = options.output;
  std::int64_t bytes = 0;
  settings.progress = [&](std::int64_t taken) { progress.update(bytes = taken); };
  Creation(std::move(settings), plan, input, out).run();
  out.commit();
  const std::string_view better = better_names(options);
  if (!better.empty() && !plan.npy && promised_suffix(options.output).empty())
    complain(options.input, fmt::format("became one frame of its bytes; {}", better));
  progress.finish({1, bytes, out.stored_bytes()});
  return 0;
}

}  // namespace

int run_create(const CreateOptions& options) {
  if (options.recursive) return create_tree(options);
  options.tree.require_none();
  return guarded(options.input == "-" ? "stdin" : options.input, [&] { return create(options); });
}

}  // namespace bloscfs::tools
