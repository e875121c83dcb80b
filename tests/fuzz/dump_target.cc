// shm-dump on any bytes: its copy, its document, its text and its check.

#include <unistd.h>

#include <array>

#include "src/os/memfd.h"
#include "tests/fuzz/target.h"
#include "tests/unit/verify_samples.h"
#include "tools/shm_dump/dump.h"
#include "tools/shm_dump/text.h"

namespace beeline::fuzz {
namespace {

// A saved file of `size` bytes that starts with these; the descriptor keeps it.
os::UniqueFd save(std::span<const std::byte> bytes, std::size_t size) {
  auto fd = os::create_memfd("fuzz", std::max<std::size_t>(size, 1));
  FUZZ_DEMAND(fd);
  // Pages of zeros stay holes, as in a file that shm-dump has saved.
  static constexpr std::array<std::byte, shm::kPage> kZeros{};
  for (std::size_t at = 0; at < bytes.size(); at += shm::kPage) {
    const auto page = bytes.subspan(at, std::min<std::size_t>(shm::kPage, bytes.size() - at));
    if (std::memcmp(page.data(), kZeros.data(), page.size()) == 0) continue;
    FUZZ_DEMAND(::pwrite(fd->get(), page.data(), page.size(), static_cast<off_t>(at)) ==
                static_cast<ssize_t>(page.size()));
  }
  return std::move(*fd);
}

os::UniqueFd save(std::span<const std::byte> bytes) { return save(bytes, bytes.size()); }

// As long as its header claims: the input has the first pages, zeros follow.
os::UniqueFd save_pages(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kLongest = 4 << 20;
  const std::uint64_t said = shm::ByteView(bytes).u64(offsetof(shm::SegmentHeader, size_bytes));
  return save(bytes, said > bytes.size() && said <= kLongest ? said : bytes.size());
}

void show(const os::UniqueFd& file, std::vector<look::Segment> others) {
  look::Source source = look::saved_file("/proc/self/fd/" + std::to_string(file.get()));
  auto loaded = look::load_segment(source);
  if (!loaded) {
    FUZZ_DEMAND(!loaded.error().text.empty());
    return;
  }
  others.push_back(std::move(*loaded));
  const look::Segments all(std::move(others));
  for (const look::Segment& segment : all.all()) {
    const dump::Json document = dump::dump_segment(segment, all, dump::Listing::kAll);
    FUZZ_DEMAND(!document.dump(2, ' ', false, dump::Json::error_handler_t::replace).empty());
    FUZZ_DEMAND(!dump::text_of(document).empty());
    FUZZ_DEMAND(!dump::table_of(dump::Json::array({document})).empty());
    FUZZ_DEMAND(dump::verify(segment, true).contains("ok"));
  }
  (void)all.find_agents("worker");
}

BEELINE_FUZZ_TARGET(dump) {
  using test::Sample;
  static const std::array<Sample, 5> sound = {test::sample_link(), test::sample_home(),
                                              test::sample_status(), test::sample_directory(),
                                              test::sample_history()};
  Feed feed(input);
  const auto choice = feed.take<std::uint8_t>();
  if (choice >= 0xf0) return show(save_pages(std::as_bytes(feed.rest())), {});
  const std::size_t which = choice % sound.size();
  Sample sample = sound[which];
  scribble(feed, sample.bytes(), 64);
  // A home is shown with the help of its link, which may be the damaged one.
  std::vector<look::Segment> others;
  const std::size_t helper = which == 0 ? 1 : 0;
  Sample help = sound[helper];
  const os::UniqueFd file = save(help.bytes());
  auto loaded = look::load_segment(look::saved_file("/proc/self/fd/" + std::to_string(file.get())));
  FUZZ_DEMAND(loaded);
  others.push_back(std::move(*loaded));
  show(save(sample.bytes()), std::move(others));
}

}  // namespace
}  // namespace beeline::fuzz
