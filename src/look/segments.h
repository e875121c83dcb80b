#pragma once

// The segments of one dump, and their relations: names of agents come from the directory, receipts
// of a link from the opposite link, strings and payloads of an inbox from its in-links.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <beeline/inbox.h>
#include <beeline/result.h>

#include "shm/verify.h"
#include "src/look/capture.h"
#include "src/look/source.h"

namespace beeline::look {

// A copy of a segment. No byte of it is trusted. `shape` says whether its geometry holds; only
// then may its parts be read.
struct Segment {
  Source source;
  Capture copy;
  std::optional<shm::Broken> shape;
  bool live = false;        // its owner may have been running when the copy was taken
  std::int64_t now_ns = 0;  // monotonic, when the copy was taken; 0 for a saved file

  [[nodiscard]] shm::ByteView view() const { return shm::ByteView(copy.bytes()); }
  [[nodiscard]] shm::SegmentKind kind() const { return shm::kind_of(view()); }
  [[nodiscard]] std::uint32_t owner_pid() const;
  [[nodiscard]] std::uint32_t peer_pid() const;
  [[nodiscard]] shm::Incarnation incarnation() const;
  [[nodiscard]] std::uint32_t serial() const;
  // A segment of this kind with valid geometry.
  [[nodiscard]] bool is_sound(shm::SegmentKind wanted) const { return !shape && kind() == wanted; }
};

// Takes a copy. Errors: those of open_source() and Capture::take(); kBadSegment (no segment);
// kWrongVersion for another layout, naming both versions.
[[nodiscard]] Result<Segment> load_segment(const Source& source);

// The place of the receipts for a link.
struct Receipts {
  const Segment* link = nullptr;
  std::uint64_t bank_at = 0;  // offset of the bank
  std::size_t bank = 0;
};

// How far the reader of a link has taken its lanes.
struct Progress {
  std::array<std::uint64_t, shm::kLanes> taken{};  // the first position that was not taken
  const Segment* told_by = nullptr;
};

// Owns the copies. Pointers to segments stay valid as long as nothing is added.
class Segments {
 public:
  explicit Segments(std::vector<Segment> segments);

  [[nodiscard]] const std::vector<Segment>& all() const { return segments_; }

  // The newest directory; null if there is none.
  [[nodiscard]] const Segment* directory() const { return directory_; }
  // The name of an agent, escaped; empty if no directory tells it.
  [[nodiscard]] std::string agent_name(std::uint32_t pid) const;
  [[nodiscard]] std::string raw_agent_name(std::uint32_t pid) const;
  // The pids that `name_or_pid` means, as a number or a name; else the pids of names that begin
  // with it and '@'; empty if there are none.
  [[nodiscard]] std::vector<std::uint32_t> find_agents(std::string_view name_or_pid) const;

  // Whether the owner was running: the segment is live, and the directory knows the agent.
  [[nodiscard]] bool runs(const Segment& segment) const;

  [[nodiscard]] const Segment* find_link(std::uint32_t owner, const shm::LinkKey& key) const;
  [[nodiscard]] std::optional<Receipts> find_receipts(const Segment& link) const;
  // The home that counts: the one of the newest incarnation of an agent that has finished its
  // takeover.
  [[nodiscard]] const Segment* find_home(std::uint32_t pid) const;
  // The status page of an incarnation; null if it is not among the segments.
  [[nodiscard]] const Segment* find_status(shm::Incarnation incarnation) const;
  // How far the reader has taken the link: from its row in the reader's home or from the receipts,
  // whichever is further. If the home has no row for it, the reader has taken nothing yet, or
  // everything; see hear_links(). Nothing if neither home nor receipts are among the segments.
  // REQUIRES: link.is_sound(kLink).
  [[nodiscard]] std::optional<Progress> find_progress(const Segment& link) const;

  // Takes the coordinator's list of links to `reader` that still count. The reader has read every
  // other link to its end and released it; the keeper still holds the memory for a while.
  void hear_links(std::uint32_t reader, std::vector<shm::LinkKey> counting);

 private:
  struct Agent {
    std::string name;
    shm::AgentWord word;
  };

  [[nodiscard]] bool was_let_go(const Segment& link) const;
  void read_directory();
  void judge_liveness();

  std::vector<Segment> segments_;
  const Segment* directory_ = nullptr;
  std::unordered_map<std::uint32_t, Agent> agents_;
  std::unordered_multimap<std::uint32_t, const Segment*> links_;  // by the pid of their owner
  std::unordered_map<std::uint32_t, const Segment*> homes_;       // the homes that count, by pid
  std::unordered_map<shm::Incarnation, const Segment*> status_;   // by the incarnation of their
                                                                  // owner
  std::unordered_map<std::uint32_t, std::vector<shm::LinkKey>> counting_;  // by their reader
};

// The place of a message in a home. REQUIRES: its entry is not free.
[[nodiscard]] InboxPlace place_of(shm::EntryState state, const shm::MessageHeader& header,
                                  bool is_task);

// A string of a link; "" for number 0, "#N" if it cannot be read. The raw one may be any bytes.
[[nodiscard]] std::string string_of(const Segment* link, std::uint32_t number);
[[nodiscard]] std::string raw_string_of(const Segment* link, std::uint32_t number);

// Type and channel of a message, as string_of() returns them; a message may also carry them
// itself.
struct Texts {
  std::string type;
  std::string channel;
};
[[nodiscard]] Texts texts_of(const Segment* link, const shm::MessageHeader& header);
[[nodiscard]] Texts raw_texts_of(const Segment* link, const shm::MessageHeader& header);

// The first bytes of a payload, as many as the copies hold. `link` holds its slab, if there is
// one; null: unknown.
[[nodiscard]] std::span<const std::byte> start_of_payload(const shm::MessageHeader& header,
                                                          std::span<const std::byte> inline_payload,
                                                          const Segment* link);

// The same, cut for a line of text and escaped.
[[nodiscard]] std::string preview_of(const shm::MessageHeader& header,
                                     std::span<const std::byte> inline_payload,
                                     const Segment* link);
// `start`: the first bytes of a payload of `length` bytes; empty: they cannot be read.
[[nodiscard]] std::string preview_of(std::span<const std::byte> start, std::uint32_t length);

}  // namespace beeline::look
