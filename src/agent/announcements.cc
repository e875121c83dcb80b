#include "src/agent/announcements.h"

#include <utility>

#include "src/agent/arrivals.h"
#include "src/agent/dead_letters.h"
#include "src/agent/ended.h"
#include "src/os/event_fd.h"

namespace beeline {

namespace {

constexpr std::int64_t kNewsPatience = 5'000'000;  // for what the coordinator is about to say
// A call hears announcements for no longer than this; the next call hears the rest.
constexpr std::size_t kHeardAtLeast = 64;
constexpr std::int64_t kLongestHearing = 8'000'000;

}  // namespace

Announcements::Announcements(const Needs& needs)
    : life_(needs.life),
      client_(needs.client),
      notices_(needs.notices),
      links_(needs.links),
      arrivals_(needs.arrivals),
      ended_(needs.ended),
      letters_(needs.letters) {}

void Announcements::handle_announcements() {
  const News::Taken taken = news_.taken();
  while (auto next = client_.try_next()) handle(std::move(*next));
  hears_more_ = false;
  news_.note_read(taken);
}

// The coordinator sends packets that our socket had no room for as soon as it has room. This agent
// waits for them once, and looks for them in each call after that.
void Announcements::hear_news() {
  if (!client_.closed()) handle_some_announcements();
  if (client_.closed()) return news_.note_all_read();  // all is announced again after a resume
  if (hears_more_ || !news_.any()) return;
  if (life_.waits_outside() || !news_.may_wait()) return;
  const std::int64_t end = os::monotonic_ns() + kNewsPatience;
  for (std::int64_t left = kNewsPatience; left > 0 && news_.any() && !client_.closed();
       left = end - os::monotonic_ns()) {
    (void)os::wait_readable(client_.fd(), std::chrono::nanoseconds(left));
    handle_some_announcements();
  }
}

void Announcements::handle_some_announcements() {
  const News::Taken taken = news_.taken();
  const std::int64_t end_ns = os::monotonic_ns() + kLongestHearing;
  hears_more_ = true;
  for (std::size_t i = 0; i < kHeardAtLeast || os::monotonic_ns() < end_ns; ++i) {
    auto next = client_.try_next();
    hears_more_ = next.has_value();
    if (!hears_more_) return news_.note_read(taken);
    handle(std::move(*next));
  }
}

void Announcements::handle(control::Announcement announcement) {
  if (auto* link = std::get_if<control::AnnouncedLink>(&announcement)) {
    arrivals_.handle(std::move(*link));
  }
  if (const auto* died = std::get_if<control::DiedAnnouncement>(&announcement)) {
    notices_.add_death(*died);
  }
  if (const auto* faded = std::get_if<control::FadedAnnouncement>(&announcement)) {
    ended_.forget_link(*faded);
  }
  if (const auto* ended = std::get_if<control::EndedAnnouncement>(&announcement)) {
    handle_ended(*ended);
  }
  if (const auto* letters = std::get_if<control::LettersAnnouncement>(&announcement)) {
    letters_.handle(*letters);
  }
  if (std::holds_alternative<control::CameAnnouncement>(announcement)) ++names_heard_;
  if (std::holds_alternative<control::ShutdownAnnouncement>(announcement)) life_.go_down();
}

// The reader of one of our own links has found false values in it.
void Announcements::handle_ended(const control::EndedAnnouncement& ended) {
  const auto lock = life_.lock_send();
  send::OutLink* own = links_.out_link(ended.pid);
  if (own != nullptr && own->key() == shm::LinkKey{ended.incarnation, ended.serial}) {
    own->may_send = false;
    own->ended = true;
    own->fault = ended.what;
  }
}

}  // namespace beeline
