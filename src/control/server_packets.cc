// The packets of the server to its clients: queues, limits, and descriptors that travel.

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/control/admission.h"
#include "src/control/death.h"
#include "src/control/keeper_table.h"
#include "src/control/server.h"

namespace beeline::control {

void Server::send(std::uint64_t session_id, std::string text, std::vector<SharedFd> fds) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end() || found->second->doomed) return;
  Session& session = *found->second;
  const std::uint32_t place = place_of(session);
  count_due(place);
  session.queued_bytes += text.size();
  hive_->registry.shares().take(session.caller.uid, Resource::kQueuedBytes, text.size());
  session.queue.push_back({std::move(text), std::move(fds), place});
  flush(session);
  if (session.queue.size() > kMaxQueuedPackets || session.queued_bytes > kMaxQueuedBytes) {
    doom(session, {ErrorCode::kFull, 0,
                   fmt::format("{} packets, {} bytes wait for the client, the limits are {} and {}",
                               session.queue.size(), session.queued_bytes, kMaxQueuedPackets,
                               kMaxQueuedBytes)});
  }
  if (!session.queue.empty()) limit_queues(session);
}

std::uint32_t Server::place_of(const Session& session) const {
  const Agent* agent = hive_->registry.agent(session.caller.pid);
  return agent != nullptr && agent->placed ? agent->index : kNoPlace;
}

void Server::count_due(std::uint32_t place) {
  if (place != kNoPlace) hive_->directory.count_due(place);
}

void Server::count_taken(std::uint32_t place) {
  if (place != kNoPlace) hive_->directory.count_taken(place);
}

void Server::limit_queues(const Session& session) {
  const Shares& shares = hive_->registry.shares();
  const uid_t user = session.caller.uid;
  const std::size_t held = shares.held(user, Resource::kQueuedBytes);
  const std::size_t others = shares.used(Resource::kQueuedBytes) - held;
  Stock stock;
  stock.total = kMaxQueuedBytesOfAll;
  stock.for_owner = kMaxQueuedBytesOfAll / kPart;
  stock.used = others;
  const std::size_t share = share_of(stock, 0, claim_of(user));
  if (held <= share) return;
  Session* fullest = nullptr;
  for (const auto& [id, other] : sessions_) {
    if (other->caller.uid != user || other->doomed) continue;
    if (fullest == nullptr || other->queued_bytes > fullest->queued_bytes) fullest = other.get();
  }
  if (fullest == nullptr) return;
  doom(*fullest, {ErrorCode::kFull, 0,
                  fmt::format("{} bytes wait for the clients of uid {}, {} of them for this one; "
                              "the share of the user is {} now: read the answers to the requests",
                              held, user, fullest->queued_bytes, share)});
}

bool Server::may_send_fds(Session& session, std::size_t count) {
  if (count == 0) return true;
  if (session.sent_fds != 0 && has_read_all(session.socket)) {
    settle_fds(session);
  }
  if (session.sent_fds != 0 && session.sent_fds + count > kMaxSentFds) return false;
  // The kernel counts descriptors under way for the sending user, which is the same for all
  // clients.
  const uid_t user = session.caller.uid;
  Stock stock;
  stock.total = descriptor_limit() / 4 * 3;
  stock.for_owner = stock.total / kPart;
  const auto fits = [&] {
    const Shares& shares = hive_->registry.shares();
    stock.used = shares.used(Resource::kSentFds);
    const std::size_t held = shares.held(user, Resource::kSentFds);
    if (held == 0) return true;  // no client to wait for
    return held + count <= share_of(stock, held, claim_of(user));
  };
  if (fits()) return true;
  for (const auto& [id, other] : sessions_) {
    if (other->caller.uid != user || other->sent_fds == 0) continue;
    if (has_read_all(other->socket)) {
      settle_fds(*other);
    } else {
      want_write(*other, true);
    }
  }
  if (fits()) return true;
  held_.insert(session.caller.session);
  return false;
}

void Server::settle_fds(Session& session) {
  const std::size_t count = std::exchange(session.sent_fds, 0);
  hive_->registry.shares().give_back(session.caller.uid, Resource::kSentFds, count);
  fds_settled_ |= count != 0 && !held_.empty();
}

void Server::settle_lingering(std::uint64_t id) {
  if (lingering_.settle(id, hive_->registry.shares())) fds_settled_ |= !held_.empty();
}

void Server::flush_held() {
  if (!std::exchange(fds_settled_, false)) return;
  for (const std::uint64_t id : std::exchange(held_, {})) {
    if (const auto found = sessions_.find(id); found != sessions_.end()) flush(*found->second);
  }
}

void Server::flush(Session& session) {
  Shares& shares = hive_->registry.shares();
  const bool all_read = session.sent_fds != 0 && has_read_all(session.socket);
  if (all_read) settle_fds(session);
  while (!session.queue.empty() && !session.doomed) {
    const Outgoing& next = session.queue.front();
    // Edge-triggered: each packet that the client reads calls us again.
    if (!may_send_fds(session, next.fds.size())) return want_write(session, true);
    std::vector<int> fds;
    for (const SharedFd& fd : next.fds) fds.push_back(fd->get());
    auto sent = session.socket.try_send(next.text, fds);
    if (!sent && sent.error().code == ErrorCode::kFull) {
      crowded_ = true;
      return;
    }
    if (!sent) return doom(session, std::move(sent.error()));
    if (!*sent) return want_write(session, true);
    session.sent_fds += fds.size();
    shares.take(session.caller.uid, Resource::kSentFds, fds.size());
    session.queued_bytes -= next.text.size();
    shares.give_back(session.caller.uid, Resource::kQueuedBytes, next.text.size());
    count_taken(next.place);
    session.queue.pop_front();
  }
  want_write(session, session.owes_deaths || holds_others(session));
}

bool Server::send_now(std::uint64_t session_id, const std::string& text) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end() || found->second->doomed) return false;
  Session& session = *found->second;
  if (session.queue.empty()) {
    const std::uint32_t place = place_of(session);
    count_due(place);
    auto sent = session.socket.try_send(text);
    count_taken(place);  // or not sent at all: it is made anew
    if (!sent) {
      doom(session, std::move(sent.error()));
      return false;
    }
    if (*sent) return true;
    want_write(session, true);
  }
  session.owes_deaths = true;
  return false;
}

void Server::go_on(Session& session) {
  flush(session);
  if (!session.queue.empty() || session.doomed || !session.owes_deaths) return;
  session.owes_deaths = false;
  want_write(session, holds_others(session));
  if (Agent* agent = hive_->registry.agent(session.caller.pid)) tell_deaths(*hive_, *agent);
}

void Server::want_write(Session& session, bool wanted) {
  if (session.wants_write == wanted) return;
  session.wants_write = wanted;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET | (wanted ? EPOLLOUT : 0U);
  event.data.u64 = tag_of(Source::kSession, session.caller.session);
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, session.socket.fd(), &event);
}

}  // namespace beeline::control
