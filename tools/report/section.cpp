#include "tools/report/section.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <sys/stat.h>

#include "codec/error.hpp"
#include "frame/container/missing_decoder.hpp"
#include "frame/remote/open_remote.hpp"
#include "frame/remote/url.hpp"
#include "frame/repair/losses.hpp"
#include "frame/repair/open_damaged.hpp"
#include "tools/frame_tree.hpp"
#include "tools/repair_report.hpp"
#include "tools/report/chunk_map.hpp"
#include "tools/report/examination.hpp"
#include "tools/report/facts.hpp"
#include "tools/report/metalayer_trees.hpp"
#include "tools/report/pictures.hpp"
#include "tools/report/reading_commands.hpp"
#include "tools/report/text_preview.hpp"
#include "tools/report/words.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

/// In bytes. Larger files are not searched for remains, because that takes too long.
constexpr std::int64_t kMostSearched = std::int64_t{4} << 30;
/// Most chunks of a repair plan that are drawn. If there are more, a sample is drawn.
constexpr std::int64_t kDrawnChunks = std::int64_t{1} << 18;

std::string decoded_text(const Examination& found, std::int64_t count) {
  if (found.step > 1)
    return fmt::format("A sample of the {} chunks, one of {}, was decoded", grouped(count),
                       grouped(found.step));
  return count == 1 ? "Its one chunk was decoded"
                    : fmt::format("All {} chunks were decoded", grouped(count));
}

Markup finding_list(const Examination& found) {
  Markup items;
  for (const Finding& finding : found.findings)
    items.add("<li><b>{}</b>{}{}</li>\n", finding.part, finding.part.empty() ? "" : ": ",
              finding.reason);
  const std::int64_t more = found.found - std::ssize(found.findings);
  if (more > 0) items.add("<li>{}</li>\n", counted(more, "more like these", "more like these"));
  return markup("<ul class=\"findings\">\n{}</ul>\n", items);
}

const char* heading_of(Health health) {
  switch (health) {
    case Health::unsupported:
      return "Cannot be decoded here";
    case Health::too_large:
      return "Too large to be decoded";
    case Health::unreadable:
      return "Cannot be read";
    case Health::no_contents:
      return "Without contents";
    default:
      return "Damage";
  }
}

Markup health_part(const std::string& file, const Examination& found, std::int64_t count) {
  const Markup hint =
      found.step == 1 ? Markup()
                      : markup(" To decode all: <code>b2frame verify {}</code>", shell_word(file));
  const std::string decoded = count == 0 ? "It has no chunks" : decoded_text(found, count);
  if (found.worst == Health::ok)
    return markup("<p class=\"note good\">{}{}.{}</p>\n", decoded,
                  count == 0 ? "" : "; none is damaged", hint);
  return markup(
      "<div class=\"note {}\" role=\"alert\"><h3>{}</h3>\n<p>{}. This is wrong:</p>\n{}"
      "{}</div>\n",
      found.worst == Health::damaged ? "bad" : "warn", heading_of(found.worst), decoded,
      finding_list(found), hint.empty() ? hint : markup("<p>{}</p>\n", hint));
}

std::string summary_of(const Examination& found) {
  if (found.worst == Health::ok) return "";
  if (found.worst != Health::damaged) return found.findings.front().reason;
  return found.survey.all.damaged > 0
             ? counted(found.survey.all.damaged, "damaged chunk", "damaged chunks")
             : found.findings.front().part + ": " + found.findings.front().reason;
}

Markup chunk_part(const fs::ChunkSurvey& survey, const std::string& id) {
  if (survey.cells.empty()) return {};
  if (survey.cells.size() == 1 && survey.grid.chunks_of(0) == 1)
    return markup("<h3>Chunks</h3>\n{}", one_chunk(survey));
  return markup("<h3>Chunks</h3>\n<div class=\"chunk-figures\">\n{}{}</div>\n",
                chunk_map(survey, id), ratio_histogram(survey));
}

/// Returns the chunks of a repair plan as a survey, like the survey of a sound frame.
fs::ChunkSurvey survey_of(const frame::RepairPlan& plan) {
  fs::ChunkSurvey survey(fs::ChunkGrid(plan.info, fs::SurveyLimits{}.cells));
  const std::int64_t count = plan.info.nchunks;
  const std::int64_t step = count / kDrawnChunks + 1;
  survey.is_sample = step > 1;
  std::int64_t first = 0;
  for (const frame::Slot& slot : plan.slots) {
    const std::int64_t end = std::min(count, first + std::min(slot.count, count - first));
    for (std::int64_t chunk = codec::ceil_div(first, step) * step; chunk < end; chunk += step) {
      fs::ChunkCounts& cell = survey.cells[static_cast<std::size_t>(survey.grid.cell_of(chunk))];
      const bool is_stored = slot.kind == frame::SlotKind::stored;
      for (fs::ChunkCounts* counts : {&cell, &survey.all}) {
        if (slot.kind == frame::SlotKind::special)
          counts->add_special(slot.special, 1);
        else if (is_stored)
          counts->add_stored(slot.nbytes, slot.cbytes);
        else
          counts->seen++;
      }
      if (is_stored) survey.ratios.push_back(static_cast<double>(slot.nbytes) / slot.cbytes);
      const bool is_sound =
          slot.kind == frame::SlotKind::special ||
          (is_stored && slot.soundness == frame::Soundness::whole && !slot.is_doubtful);
      if (!is_sound) survey.note_damage(chunk);
    }
    first = end;
  }
  return survey;
}

Markup loss_list(const frame::RepairPlan& plan) {
  Markup items;
  for (const std::string& text : plan.notes) items.add("<li>{}</li>\n", text);
  for (const std::string& name : plan.lost_metalayers)
    items.add("<li><b>lost</b>: metalayer {}</li>\n", name);
  for (const std::string& name : plan.lost_vlmetalayers)
    items.add("<li><b>lost</b>: vlmetalayer {}</li>\n", name);
  std::int64_t seen = 0;
  frame::for_each_loss(plan, [&](const frame::Loss& loss) {
    if (seen++ < static_cast<std::int64_t>(kListedFindings))
      items.add("<li>{}</li>\n", loss_as_text(plan, loss));
  });
  if (const std::int64_t more = seen - static_cast<std::int64_t>(kListedFindings); more > 0)
    items.add("<li>{} more like these</li>\n", grouped(more));
  return items.empty() ? items : markup("<ul class=\"findings\">\n{}</ul>\n", items);
}

std::string intact_text(const frame::RepairPlan& plan) {
  const frame::LossSummary sum = frame::sum_losses(plan);
  return fmt::format(
      "A repair would bring back {} of {}{}; {} doubtful, {} guessed, {} lost. The order of the "
      "chunks comes from: {}.",
      size_in_words(sum.intact), size_in_words(sum.contents),
      is_proven(plan) ? " as they were" : "", size_in_words(sum.doubtful),
      size_in_words(sum.guessed), size_in_words(sum.lost), order_name(plan.order));
}

Markup plan_parts(const std::string& file, const std::string& id, const frame::RepairPlan& plan) {
  Markup out;
  out.add("<div class=\"note bad\"><h3>What is left</h3>\n<p>{}</p>\n{}</div>\n", intact_text(plan),
          loss_list(plan));
  out.add(facts(plan.info));
  out.add(chunk_part(survey_of(plan), id));
  out.add(metalayer_trees(plan.metalayers));
  out.add(repair_commands(file));
  return out;
}

/// True if the file may be searched for remains.
bool is_searchable(const std::string& file) {
  if (frame::is_remote(file) || parse_store_address(file)) return false;
  struct stat st {};
  if (::stat(file.c_str(), &st) != 0) return false;
  if (S_ISDIR(st.st_mode)) return tree_size(file) <= kMostSearched;
  return S_ISREG(st.st_mode) && st.st_size <= kMostSearched;
}

}  // namespace

Section frame_section(const std::string& name, const std::string& id, Input& input) {
  const std::string file = frame::shown_url(name);
  const Examination found = examine(input);
  Section section{file, found.worst, summary_of(found), true, {}};
  Markup& out = section.body;
  out.add(facts(input.snapshot()));
  out.add(health_part(file, found, input.info().nchunks));
  out.add(array_pictures(input));
  out.add(text_preview(input));
  out.add(chunk_part(found.survey, id));
  out.add(metalayer_trees(input.snapshot()));
  out.add(reading_commands(file, input.info()));
  if (found.worst == Health::damaged && is_searchable(file)) out.add(repair_commands(file));
  return section;
}

Section remains_section(const std::string& file, const std::string& id,
                        const std::exception& problem) {
  Section section{frame::shown_url(file), health_of(problem), reason(problem, file), true, {}};
  section.body.add(
      "<div class=\"note bad\" role=\"alert\"><h3>It cannot be opened</h3>"
      "<p>{}</p></div>\n",
      reason(problem, file));
  if (section.health != Health::damaged || !is_searchable(file)) {
    // The file was not searched, so the page does not call it damaged.
    section.health = std::min(section.health, Health::unreadable);
    section.has_content = false;
    return section;
  }
  const frame::RepairPlan plan = frame::plan_repair(file);
  if (plan.found_anything)
    section.body.add(plan_parts(file, id, plan));
  else
    section.body.add("<p>Nothing of a frame was found in it.</p>\n");
  section.has_content = plan.found_anything;
  return section;
}

}  // namespace bloscfs::tools
