// The control path of an agent: what the coordinator announces, opening links, registering again.

#include "src/agent/core.h"
#include "src/agent/core_wait.h"
#include "src/control/roles.h"

namespace beeline {

namespace {

constexpr std::int64_t kControlTick = 4'000'000;       // a busy agent looks at its control socket this often
constexpr std::int64_t kResumePause = 50'000'000;      // between attempts to reach a coordinator
constexpr std::uint32_t kTurnsPerClock = 256;

}  // namespace

void AgentCore::poll_control_sometimes() {
  if (++turns_ % kTurnsPerClock != 0) return;
  const std::int64_t now = os::coarse_ns();
  if (now - control_tick_ns_ < kControlTick) return;
  poll_control();
}

void AgentCore::poll_control() {
  control_tick_ns_ = os::coarse_ns();
  if (down_) return;
  while (auto next = client_.try_next()) {
    if (auto* link = std::get_if<control::AnnouncedLink>(&*next)) handle(std::move(*link));
    if (const auto* died = std::get_if<control::DiedAnnouncement>(&*next)) handle(*died);
    if (std::holds_alternative<control::ShutdownAnnouncement>(*next)) go_down();
  }
  if (client_.closed() && !down_) resume();
  watch_owners();
  fade_links();
  report_quarantined();
  publish_pressure();
}

void AgentCore::go_down() {
  if (down_) return;
  down_ = true;
  notices_.push_back({Notice::Kind::kShutdown, 1, "king"});
}

void AgentCore::handle(const control::DiedAnnouncement& died) {
  const bool away = died.state == shm::AgentState::kAway;
  notices_.push_back({away ? Notice::Kind::kChildAway : Notice::Kind::kChildDead, died.pid, died.name});
}

void AgentCore::handle(control::AnnouncedLink announced) {
  if (announced.process) {
    static_cast<void>(lives_.learn(announced.pid, announced.incarnation, std::move(announced.status),
                                   std::move(announced.event)));
  }
  receive::InLink* known = receiver_->find({announced.incarnation, announced.serial});
  if (known != nullptr) {
    known->owner_index = announced.index;  // a new coordinator has a new directory
    known->bell = lives_.find(announced.pid, announced.incarnation);
  } else {
    accept_link(announced);
  }
  refresh_peer(announced.pid);
}

void AgentCore::accept_link(control::AnnouncedLink& announced) {
  const shm::LinkKey key{announced.incarnation, announced.serial};
  const auto refuse = [&](const Error& error) {
    static_cast<void>(client_.report({error.text, announced.pid, key.incarnation, key.serial}));
  };
  if (const char* wrong = shm::contract_error(announced.contract); wrong != nullptr) {
    return refuse({ErrorCode::kInvalid, 0, wrong});
  }
  auto memory = segment::Foreign::accept(
      std::move(announced.link), shm::link_identity(announced.contract, announced.pid, pid_, key),
      shm::LinkLayout(announced.contract).first_extent);
  if (!memory) return refuse(memory.error());
  const auto row = receiver_->home().vacant_row();
  if (!row) return refuse(row.error());
  shm::open_row(receiver_->home().home().row(*row), key, announced.pid, 0, 0);
  connect_receipts(add_in_link(std::move(*memory), announced, *row));
}

receive::InLink& AgentCore::add_in_link(segment::Foreign memory,
                                        const control::AnnouncedLink& announced, std::uint16_t row) {
  auto link = std::make_unique<receive::InLink>(std::move(memory), announced.contract);
  link->key = {announced.incarnation, announced.serial};
  link->owner_pid = announced.pid;
  link->owner_index = announced.index;
  link->may_send = announced.may_send;
  link->row = row;
  link->seen_empty_ns = os::coarse_ns();
  link->bell = lives_.find(announced.pid, announced.incarnation);
  return receiver_->add(std::move(link));
}

// Finds a bank for the receipts of an in-link, opening our own link to its owner first where there is none. Without one
// the link is not drained; the next look tries again.
void AgentCore::connect_receipts(receive::InLink& link) {
  send::OutLink* own = out_link(link.owner_pid);
  if (own == nullptr) {
    const auto opened = open_link(link.owner_pid);
    if (!opened && opened.error().code == ErrorCode::kPeerDead) link.owner_gone = true;
    own = out_link(link.owner_pid);
  }
  if (own == nullptr) return;
  const std::size_t bank = shm::vacant_bank(own->view());
  if (bank == shm::kBanks) return;
  link.sink = {&own->view(), &own->memory(), bank};
  shm::open_bank(own->view().bank(bank), link.key, link.position[0], link.position[1]);
}

send::OutLink* AgentCore::out_link(Pid pid) {
  const auto found = slot_of_.find(pid);
  return found == slot_of_.end() ? nullptr : out_[found->second].get();
}

send::PeerLife AgentCore::find_life(Pid pid, std::uint64_t incarnation) {
  send::PeerLife life;
  life.bell = lives_.find(pid, incarnation);
  life.known = life.bell.page != nullptr;
  for (const auto& link : receiver_->links()) {
    if (link->owner_pid == pid && link->key.incarnation == incarnation) life.link = &link->view;
  }
  return life;
}

void AgentCore::refresh_peer(Pid pid) {
  const auto lock = lock_send();
  if (send::OutLink* link = out_link(pid); link != nullptr) send_path_.refresh(*link);
}

// Which in-links belong to a life that has ended: nothing will be added to them.
void AgentCore::watch_owners() {
  for (const auto& link : receiver_->links()) {
    if (!link->owner_gone) {
      const shm::AgentWord word = directory_view_.agent(link->owner_index);
      link->owner_gone = word.incarnation > link->key.incarnation ||
                         (word.incarnation == link->key.incarnation &&
                          word.state != shm::AgentState::kRunning);
    }
    if (!link->sink.valid() && !link->owner_gone) connect_receipts(*link);
  }
  for (std::size_t i = 0; i < out_.size(); ++i) {
    const auto lock = lock_send();
    if (out_[i]->needs_peer) send_path_.refresh(*out_[i]);
  }
}

void AgentCore::fade_links() {
  for (std::size_t i = 0; i < receiver_->links().size();) {
    receive::InLink& link = *receiver_->links()[i];
    if (!link.faded() || !client_.fade(link.key.incarnation, link.key.serial)) {
      ++i;
      continue;
    }
    const Pid pid = link.owner_pid;
    {
      const auto lock = lock_send();
      for (const auto& own : out_) {
        if (own->receipts.opposite == &link.view) own->receipts = {};
      }
    }
    receiver_->remove(link);
    refresh_peer(pid);
  }
}

void AgentCore::report_quarantined() {
  for (const receive::InLink* link : receiver_->take_quarantined()) {
    static_cast<void>(client_.report({"bad slot: nothing more is taken from this link", link->owner_pid,
                                      link->key.incarnation, link->key.serial}));
  }
}

// ---- Opening links -------------------------------------------------------------------------------

Result<Peer> AgentCore::peer(std::string_view name) {
  if (const auto known = names_.find(std::string(name)); known != names_.end()) {
    const send::OutLink* link = out_link(known->second);
    if (link != nullptr && !link->dead) return Peer{slot_of_[known->second], known->second};
  }
  const std::uint32_t count = directory_view_.agent_count();
  Pid found = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const shm::AgentState state = directory_view_.agent(i).state;
    shm::AgentRecord record;
    if (state == shm::AgentState::kVacant || state == shm::AgentState::kDead) continue;
    if (!directory_view_.read_record(i, record)) continue;
    const std::string_view held(record.name, strnlen(record.name, shm::kNameBytes));
    if (held == name && record.pid > found) found = record.pid;
  }
  if (found == 0) {
    return fail(ErrorCode::kNoAgent, "no agent named \"" + std::string(name) + "\" in hive \"" + hive_ +
                                         "\"; `beeline tree` shows who is there");
  }
  names_[std::string(name)] = found;
  return peer(found);
}

Result<Peer> AgentCore::peer(Pid pid) {
  if (const auto known = slot_of_.find(pid); known != slot_of_.end()) {
    const send::OutLink& link = *out_[known->second];
    if (link.may_send && !link.dead) return Peer{known->second, pid};
    if (link.dead) {
      return fail(ErrorCode::kPeerDead, "agent " + std::to_string(pid) + " is dead");
    }
    return fail(ErrorCode::kDenied, "agent " + std::to_string(pid_) + " may not send to agent " +
                                        std::to_string(pid) + "; `beeline route` explains");
  }
  auto opened = open_link(pid);
  if (opened && !out_[opened->slot]->may_send) return peer(pid);
  return opened;
}

Result<send::OutLink*> AgentCore::add_out_link(Pid pid) {
  const shm::LinkContract contract{options_.normal_slots, options_.urgent_slots, options_.max_payload_bytes};
  auto made = send::OutLink::create(hive_, pid_, pid, {incarnation_, next_serial_}, contract);
  if (!made) return tl::unexpected(made.error());
  ++next_serial_;
  const auto lock = lock_send();
  slot_of_[pid] = static_cast<std::uint32_t>(out_.size());
  out_.push_back(std::make_unique<send::OutLink>(std::move(*made)));
  return out_.back().get();
}

Result<Peer> AgentCore::open_link(Pid pid) {
  if (down_) return fail(ErrorCode::kClosed, "the hive went down");
  auto link = add_out_link(pid);
  if (!link) return tl::unexpected(link.error());
  auto opened = ask_open(**link, false);
  if (!opened && client_.closed()) {
    resume();  // opens every link of ours again, this one among them
    if (!client_.closed()) opened = ask_open(**link, true);
  }
  if (!opened) {
    const auto lock = lock_send();
    slot_of_.erase(pid);
    (*link)->dead = true;  // its slot stays: peers are numbered by place
    return tl::unexpected(opened.error());
  }
  return Peer{slot_of_[pid], pid};
}

Result<control::Opened> AgentCore::ask_open(send::OutLink& link, bool again) {
  control::OpenRequest request;
  request.to = link.peer();
  request.serial = link.key().serial;
  request.contract = link.view().contract();
  request.again = again;
  auto opened = client_.open(request, link.memory().fd());
  if (!opened) return opened;
  if (opened->process) {
    static_cast<void>(lives_.learn(link.peer(), opened->incarnation, std::move(opened->status),
                                   std::move(opened->event)));
  }
  const auto lock = lock_send();
  link.directory_index = opened->index;
  link.may_send = opened->may_send;
  send_path_.refresh(link);
  return opened;
}

// ---- A new coordinator ---------------------------------------------------------------------------

void AgentCore::resume() {
  const std::int64_t now = os::monotonic_ns();
  if (now < next_resume_ns_ || !attached_) return;
  next_resume_ns_ = now + kResumePause;
  if (!client_.reconnect()) return;
  const auto done = register_again();
  if (done) return;
  if (done.error().code == ErrorCode::kPeerDead) go_down();  // somebody took over, or we were fenced
  client_.close();
}

Result<void> AgentCore::register_again() {
  control::ResumeRequest request;
  request.as.name = name_;
  request.as.role = control::role_from(options_.role).value_or(control::Role::kWorker);
  request.as.temporary = options_.temporary;
  request.pid = pid_;
  request.incarnation = incarnation_;
  request.parent_pid = parent_;
  request.ready = true;
  auto resumed = client_.resume(request, receiver_->home().fd(), status_.fd(), event_.get());
  if (!resumed) return tl::unexpected(resumed.error());
  if (auto done = map_directory(std::move(resumed->directory)); !done) return done;
  for (std::size_t i = 0; i < out_.size(); ++i) {
    if (out_[i]->dead) continue;
    const auto opened = ask_open(*out_[i], true);
    if (client_.closed()) return fail(ErrorCode::kClosed, "the coordinator went away again");
    if (!opened) out_[i]->dead = opened.error().code == ErrorCode::kPeerDead;
  }
  return {};
}

std::optional<Notice> AgentCore::next_notice() {
  poll_control();
  if (notices_.empty()) return std::nullopt;
  Notice notice = std::move(notices_.front());
  notices_.pop_front();
  return notice;
}

std::uint64_t AgentCore::detach(Deadline drain_until) {
  const auto left = [this] {
    const auto lock = lock_send();
    std::uint64_t count = 0;
    for (const auto& link : out_) count += link->dead ? 0 : link->not_taken();
    return count;
  };
  if (drain_until > Deadline::min() && left() != 0) {
    for (const auto& link : out_) send::SendPath::want_space(*link, true);
    wait_until(drain_until.time_since_epoch().count(), [&] { return down_ || left() == 0; });
    for (const auto& link : out_) send::SendPath::want_space(*link, false);
  }
  const std::uint64_t rest = left();
  if (attached_ && !down_ && !client_.closed()) {
    std::vector<std::uint32_t> empty;
    for (const auto& link : out_) {
      if (link->dead || link->is_empty()) empty.push_back(link->key().serial);
    }
    static_cast<void>(client_.detach(std::move(empty)));
  }
  attached_ = false;
  client_.close();
  return rest;
}

}  // namespace beeline
