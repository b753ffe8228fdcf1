// Writes to frames of other programs: the reference files, including the malformed ones.

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>

#include "frame/cframe/cframe_writer.hpp"
#include "frame/open/open.hpp"
#include "frame/sframe/sframe_writer.hpp"
#include "frame/store/local_store.hpp"
#include "tests/frame/errno_of.hpp"
#include "tests/frame/random_edit.hpp"
#include "tests/frame/scratch_directory.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

constexpr int kCommits = 4;
/// Frames that claim to have longer contents are not written to. They are for the tests of readers.
constexpr std::int64_t kMaxContents = std::int64_t{64} << 20;

const std::string kData = std::string(BLOSCFS_SOURCE_ROOT) + "/tests/data/frame/";

nlohmann::json reference_files() {
  std::ifstream file(kData + "manifest.json");
  return nlohmann::json::parse(file);
}

/// A copy of a reference file, named "f", in its own directory.
class Copy {
 public:
  explicit Copy(const std::string& name) {
    std::filesystem::copy(kData + name, directory_ / "f", std::filesystem::copy_options::recursive);
  }

  std::unique_ptr<FrameWriter> open() const {
    const auto store = make_local_store(
        UniqueFd(::open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), nullptr);
    return std::filesystem::is_directory(directory_ / "f") ? open_sframe_writer(store, "f", {})
                                                           : open_cframe_writer(store, "f", {});
  }

  FrameContents contents() const { return contents_of(*open_path(directory_ / "f", {})); }

 private:
  ScratchDirectory directory_;
};

void edit(FrameWriter& writer, FrameContents& model, std::mt19937& random) {
  const auto transaction = writer.begin();
  const FrameInfo& info = transaction->info();
  if (info.array || info.variable_chunks || info.vl_blocks) {
    model.vlmetalayers["note"] = random_content(random, 300);
    transaction->set_vlmetalayer("note", model.vlmetalayers["note"]);
  } else {
    if (info.chunksize <= 0) transaction->set_chunksize(4096, 512);
    edit_at_random(*transaction, model, random);
  }
  transaction->commit();
}

void edit_sound_frame(const std::string& name, std::mt19937& random) {
  const Copy copy(name);
  FrameContents model = copy.contents();
  const auto writer = copy.open();
  for (int commit = 0; commit < kCommits; ++commit) {
    edit(*writer, model, random);
    BOOST_CHECK_MESSAGE(copy.contents() == model, name << ", commit " << commit);
  }
  writer->compact();
  BOOST_CHECK_MESSAGE(copy.contents() == model, name << ", compacted");
}

/// Edits a malformed frame. The writer may refuse it, but only with the right error.
void edit_malformed_frame(const std::string& name, std::mt19937& random) {
  const Copy copy(name);
  const int error = errno_of([&] {
    const auto writer = copy.open();
    for (int commit = 0; commit < kCommits; ++commit) {
      const auto transaction = writer->begin();
      transaction->set_vlmetalayer("note", random_content(random, 300));
      if (transaction->info().nchunks > 0) transaction->put_special(0, codec::SpecialValue::zero);
      transaction->commit();
    }
    if (writer->snapshot()->info().cbytes < kMaxContents) writer->compact();
  });
  const bool is_right = error == 0 || error == EIO || error == EOPNOTSUPP || error == EINVAL;
  BOOST_CHECK_MESSAGE(is_right, name << ": errno " << error);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(foreign_frames)

BOOST_AUTO_TEST_CASE(are_changed_and_stay_whole) {
  std::mt19937 random(random_seed());
  int edited = 0;
  for (const auto& entry : reference_files()) {
    if (entry["expect"] != "ok" || entry["container"] == "bloscpack") continue;
    BOOST_TEST_CONTEXT(entry["path"]) edit_sound_frame(entry["path"], random);
    ++edited;
  }
  BOOST_TEST(edited > 20);
}

BOOST_AUTO_TEST_CASE(that_are_malformed_are_changed_or_refused) {
  std::mt19937 random(random_seed());
  for (const auto& entry : reference_files())
    if (entry["expect"] != "ok")
      BOOST_TEST_CONTEXT(entry["path"]) edit_malformed_frame(entry["path"], random);
}

BOOST_AUTO_TEST_SUITE_END()
