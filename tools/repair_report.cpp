#include "tools/repair_report.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "frame/header/msgpack_json.hpp"
#include "frame/repair/losses.hpp"
#include "fs/support/printable.hpp"

namespace bloscfs::tools {
namespace {

using frame::Loss;
using frame::RepairPlan;
using nlohmann::json;

/// Limit for listed ranges, for hostile files. Ranges beyond it only add to the byte counts.
constexpr std::size_t kMaxRanges = 1000000;

std::string status_of(const RepairPlan& plan) {
  if (!plan.found_anything) return "nothing_found";
  return is_complete(plan) ? "complete" : "incomplete";
}

/// Counts the chunks in each state. A chunk in `checksum_agrees` is also counted in its state.
json count_chunks(const RepairPlan& plan) {
  std::int64_t special = 0, intact = 0, proven = 0, damaged = 0, lost = 0, guessed = 0;
  for (const frame::Slot& slot : plan.slots) {
    proven += slot.is_proven ? 1 : 0;
    if (slot.kind == frame::SlotKind::missing)
      lost += slot.count;
    else if (slot.is_guess)
      guessed += slot.count;
    else if (slot.kind == frame::SlotKind::special)
      special += slot.count;
    else if (slot.is_proven || (slot.soundness == frame::Soundness::whole && !slot.is_doubtful))
      ++intact;
    else
      ++damaged;
  }
  return {{"intact", intact},
          {"special", special},
          {"damaged", damaged},
          {"guessed", guessed},
          {"lost", lost},
          {"checksum_agrees", proven},
          {"unused", plan.unused_chunks}};
}

/// Calls `visit` for up to kMaxRanges losses. Returns how many were left out.
template <typename Visit>
std::size_t for_most_losses(const RepairPlan& plan, const Visit& visit) {
  std::size_t seen = 0;
  frame::for_each_loss(plan, [&](const Loss& loss) {
    if (seen++ < kMaxRanges) visit(loss);
  });
  return seen > kMaxRanges ? seen - kMaxRanges : 0;
}

json loss_as_json(const RepairPlan& plan, const Loss& loss) {
  json bytes = json::array(), elements = json::array();
  const std::int64_t typesize = plan.info.typesize;
  std::size_t listed = 0;
  frame::for_each_range(plan, loss, [&](const frame::ByteRange& range) {
    if (listed++ >= kMaxRanges) return;
    const std::int64_t end = range.offset + range.size;
    bytes.push_back({range.offset, end});
    elements.push_back({range.offset / typesize, codec::ceil_div(end, typesize)});
  });
  json entry = {{"kind", frame::loss_name(loss.kind)},
                {"first_chunk", loss.first_chunk},
                {"chunks", loss.chunk_count},
                {"bytes", std::move(bytes)},
                {"elements", std::move(elements)}};
  if (loss.box) {
    entry["start"] = loss.box->start;
    entry["stop"] = loss.box->stop;
  }
  return entry;
}

json names_as_json(const std::vector<std::string>& names) {
  json list = json::array();
  for (const std::string& name : names) list.push_back(fs::printable(name));
  return list;
}

void print_json(const std::string& file, const RepairPlan& plan) {
  const frame::LossSummary sum = frame::sum_losses(plan);
  json ranges = json::array();
  const std::size_t left_out =
      for_most_losses(plan, [&](const Loss& loss) { ranges.push_back(loss_as_json(plan, loss)); });
  json report = {{"file", file},
                 {"status", status_of(plan)},
                 {"order", order_name(plan.order)},
                 {"typesize", plan.info.typesize},
                 {"chunksize", plan.info.chunksize},
                 {"nchunks", plan.info.nchunks},
                 {"nbytes", sum.contents},
                 {"intact", sum.intact},
                 {"doubtful", sum.doubtful},
                 {"guessed", sum.guessed},
                 {"lost", sum.lost},
                 {"chunks", count_chunks(plan)},
                 {"ranges", std::move(ranges)},
                 {"ranges_left_out", left_out},
                 {"lost_metalayers", names_as_json(plan.lost_metalayers)},
                 {"lost_vlmetalayers", names_as_json(plan.lost_vlmetalayers)},
                 {"notes", names_as_json(plan.notes)}};
  if (plan.info.array) report["shape"] = plan.info.array->shape;
  fmt::print("{}", frame::to_line(report));
}

std::string coordinates(const std::vector<std::int64_t>& at) {
  std::string text;
  for (const std::int64_t each : at) text += (text.empty() ? "" : ",") + std::to_string(each);
  return "(" + text + ")";
}

void print_text(const std::string& file, const RepairPlan& plan,
                const RepairReportSettings& settings) {
  const std::string name = fs::printable(file);
  const auto say = [&](const std::string& text) {
    fmt::print("{}: {}\n", name, fs::printable(text));
  };
  if (settings.is_other_file)
    return say("is not a frame, and has no chunks of one; name a frame or a sparse frame");
  const frame::LossSummary sum = frame::sum_losses(plan);
  for (const std::string& note : plan.notes) say(note);
  for (const std::string& layer : plan.lost_metalayers) say("lost: metalayer " + layer);
  for (const std::string& layer : plan.lost_vlmetalayers) say("lost: vlmetalayer " + layer);
  if (!plan.found_anything) return say("nothing was found; restore the file from a copy");
  const std::size_t left_out =
      for_most_losses(plan, [&](const Loss& loss) { say(loss_as_text(plan, loss)); });
  if (left_out > 0) say(fmt::format("{} more ranges like these", left_out));
  if (plan.unused_chunks > 0)
    say(fmt::format("{} chunks were found that have no place in it", plan.unused_chunks));
  if (sum.lost > 0 && !settings.leave_out)
    say("what is lost is zeros");
  else if (sum.lost > 0)
    say("lost chunks are left out; lost blocks of other chunks are zeros");
  say(fmt::format("{} of {} bytes {}; {} doubtful, {} guessed, {} lost; order by {}", sum.intact,
                  sum.contents, is_proven(plan) ? "are intact" : "can be decoded", sum.doubtful,
                  sum.guessed, sum.lost, order_name(plan.order)));
}

}  // namespace

const char* order_name(frame::Order order) {
  switch (order) {
    case frame::Order::index:
      return "index";
    case frame::Order::index_in_part:
      return "index in part";
    case frame::Order::checksums:
      return "checksums";
    case frame::Order::places:
      break;
  }
  return "guess";
}

std::string loss_as_text(const RepairPlan& plan, const Loss& loss) {
  const std::int64_t typesize = plan.info.typesize;
  std::string text = frame::loss_name(loss.kind);
  const std::string chunks = loss.chunk_count == 1
                                 ? fmt::format(", chunk {}", loss.first_chunk)
                                 : fmt::format(", chunks {} to {}", loss.first_chunk,
                                               loss.first_chunk + loss.chunk_count - 1);
  if (loss.box)
    return fmt::format("{}: elements {} to {}", text, coordinates(loss.box->start),
                       coordinates(loss.box->stop)) +
           chunks;
  const std::int64_t begin = loss.content.offset, end = begin + loss.content.size;
  text += fmt::format(": bytes {} to {}", begin, end);
  if (typesize > 1)
    text += fmt::format(", elements {} to {}", begin / typesize, codec::ceil_div(end, typesize));
  return text + chunks;
}

bool is_proven(const frame::RepairPlan& plan) {
  return std::ranges::none_of(plan.slots, [](const frame::Slot& slot) {
    return slot.kind == frame::SlotKind::stored && !slot.is_proven && !slot.is_doubtful;
  });
}

bool is_complete(const frame::RepairPlan& plan) {
  return plan.found_anything && frame::sum_losses(plan).is_all_intact() &&
         plan.lost_metalayers.empty() && plan.lost_vlmetalayers.empty() && !plan.may_be_incomplete;
}

void print_repair_report(const std::string& file, const frame::RepairPlan& plan,
                         const RepairReportSettings& settings) {
  if (settings.json)
    print_json(file, plan);
  else
    print_text(file, plan, settings);
}

}  // namespace bloscfs::tools
