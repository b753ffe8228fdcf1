#include "tools/create_archive.hpp"

#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/pystore/zip_directory.hpp"
#include "frame/pystore/zip_member_reader.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/throw_errno.hpp"
#include "tools/creation.hpp"
#include "tools/frame_output.hpp"
#include "tools/input.hpp"
#include "tools/progress.hpp"
#include "tools/promised_format.hpp"
#include "tools/store_output.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::string_view kArraySuffix = ".npy";

std::shared_ptr<const frame::ByteSource> open_archive(const std::string& path) {
  const frame::UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place) frame::throw_errno();
  frame::UniqueFd fd = frame::open_if_regular(place, O_RDONLY);
  if (!fd) throw std::runtime_error("is not a regular file");
  return std::make_shared<frame::FileSource>(std::move(fd), nullptr);
}

/// Returns the size of all members. Throws Error(malformed) for what no program would write:
/// members with invalid entries, or members that overlap.
std::int64_t checked_total(const frame::ZipDirectory& archive) {
  if (!archive.left_out().empty()) codec::throw_malformed(archive.left_out().messages().front());
  const auto file_size = static_cast<std::uint64_t>(archive.source()->stamp().size);
  std::uint64_t stored = 0;
  std::int64_t total = 0;
  for (const frame::ZipMember& member : archive.members()) {
    if (member.size > file_size - stored) codec::throw_malformed("its members overlap");
    stored += member.size;
    if (member.full_size > INT64_MAX ||
        __builtin_add_overflow(total, static_cast<std::int64_t>(member.full_size), &total))
      codec::throw_malformed(fmt::format("member {}: {} bytes", member.name, member.full_size));
  }
  return total;
}

std::string stem_of(const std::string& member) {
  return member.ends_with(kArraySuffix) && member.size() > kArraySuffix.size()
             ? member.substr(0, member.size() - kArraySuffix.size())
             : member;
}

class ArchiveCreation {
 public:
  ArchiveCreation(const CreateOptions& options, const StoreOutput& output, std::int64_t total)
      : options_(options), output_(output), progress_("create", total) {}

  void add(const frame::ZipDirectory& archive, const frame::ZipMember& member) {
    if (!stems_.insert(stem_of(member.name)).second)
      codec::throw_malformed("another one becomes the same");
    frame::ZipMemberReader reader(archive.source(), member);
    RawInput input([&](codec::MutableBytes out) { return reader.read(out); }, member.name);
    const CreatePlan plan = make_plan(options_, input.peek(plan_sample(options_)),
                                      static_cast<std::int64_t>(member.full_size));
    const std::string stem = plan.npy ? stem_of(member.name) : member.name;
    const char* const flat_suffix = has_store_suffix(options_.output) ? ".b2f" : ".b2frame";
    const auto [directory, name] = output_.place_of(stem + (plan.npy ? ".b2nd" : flat_suffix));
    FrameOutput out(directory, name, options_.output + "/" + name, options_.sparse, plan.frame);
    CreationSettings settings;
    settings.threads = options_.threads;
    settings.maps = false;
    settings.sibling_path = options_.output.substr(0, options_.output.find_last_not_of('/') + 1);
    settings.progress = [&](std::int64_t taken) { progress_.update(done_ + taken); };
    Creation(std::move(settings), plan, input, out).run();
    out.commit();
    done_ += static_cast<std::int64_t>(member.full_size);
    summary_.bytes_in = done_;
    summary_.bytes_out += out.stored_bytes();
  }
  void finish() { progress_.finish(summary_); }

 private:
  const CreateOptions& options_;
  const StoreOutput& output_;
  Progress progress_;
  std::int64_t done_ = 0;
  Progress::Summary summary_;
  std::set<std::string> stems_;
};

}  // namespace

bool is_archive(const CreateOptions& options) {
  return promised_suffix(options.input) == ".npz" &&
         (options.output.ends_with('/') || has_store_suffix(options.output));
}

void create_archive(const CreateOptions& options) {
  require(options.metalayers.empty() && options.vlmetalayers.empty(),
          "metalayers go with one frame, not with all of a .npz file");
  require(!options.sparse || !has_store_suffix(options.output), "stores have no sparse frames");
  const frame::ZipDirectory archive(open_archive(options.input));
  const std::int64_t total = checked_total(archive);
  StoreOutput output(options.output, false);
  ArchiveCreation creation(options, output, total);
  for (const frame::ZipMember& member : archive.members()) {
    try {
      creation.add(archive, member);
    } catch (const codec::Error& error) {
      throw std::runtime_error(fmt::format("member {}: {}", member.name, error.what()));
    }
  }
  if (has_store_suffix(options.output)) output.add_marker();
  output.commit(0666);
  creation.finish();
}

}  // namespace bloscfs::tools
