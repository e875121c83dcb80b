#include <beeline/king.h>

#include <array>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "src/control/client.h"
#include "src/control/roles.h"

namespace beeline {

namespace {
constexpr std::chrono::nanoseconds kMomentOfKing = std::chrono::milliseconds(20);
constexpr std::chrono::nanoseconds kPatienceOfKing = std::chrono::seconds(2);
}  // namespace

struct King::Connection {
  std::string secret;
  control::Client client;
  bool has_missed = false;  // it was made again, and King::next() has not said so

  // Makes the connection again if it was lost; false if the coordinator does not answer yet.
  bool make_again(std::chrono::nanoseconds patience) {
    if (!client.closed()) return true;
    const auto again = client.try_reconnect(patience);
    if (!again || !*again) return false;
    has_missed = true;
    if (client.request(control::WatchRequest{secret})) return true;
    client.close();
    return false;
  }
  // A coordinator that is being restarted is waited for.
  Result<control::RawAnswer> ask(const control::Request& request) {
    const Deadline deadline = after(kPatienceOfKing);
    for (;;) {
      (void)make_again(kPatienceOfKing);
      auto answer = client.request(request);
      const bool is_lost = !answer && client.closed();
      if (!is_lost || std::chrono::steady_clock::now() >= deadline) return answer;
      std::this_thread::sleep_for(kMomentOfKing / 4);
    }
  }
};

namespace {

using Kind = LifeEvent::Kind;
LifeEvent event_of(control::LifeAnnouncement announced) {
  constexpr std::array<std::pair<std::string_view, Kind>, 5> kKinds = {
      {{control::kLifeReady, Kind::kReady},
       {control::kLifeDied, Kind::kDied},
       {control::kLifeRemoved, Kind::kRemoved},
       {control::kLifeEscalated, Kind::kEscalated},
       {control::kHiveEnds, Kind::kEnding}}};
  LifeEvent event;
  event.kind = Kind::kMissed;  // a word of a later version: look at the list
  for (const auto& [word, kind] : kKinds) {
    if (word == announced.what) event.kind = kind;
  }
  event.pid = announced.pid;
  event.parent = announced.parent;
  event.name = std::move(announced.name);
  event.is_dead = announced.dead;
  event.text = std::move(announced.text);
  return event;
}

}  // namespace

King::King(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
King::King(King&&) noexcept = default;
King& King::operator=(King&&) noexcept = default;
King::~King() = default;

Result<King> King::open(const std::string& hive, const std::string& secret) {
  auto connection = std::make_unique<Connection>();
  connection->secret = secret;
  auto client = control::Client::connect({hive, /*start=*/false, control::kDefaultDeadline});
  if (!client) return tl::unexpected(std::move(client.error()));
  connection->client = std::move(*client);
  if (auto watching = connection->client.request(control::WatchRequest{secret}); !watching) {
    return tl::unexpected(std::move(watching.error()));
  }
  return King(std::move(connection));
}

Result<Ticket> King::reserve(const Reservation& wanted) {
  const auto role = control::role_from(wanted.role);
  if (!role) {
    return fail(ErrorCode::kInvalid,
                fmt::format("role \"{}\" is none of {}", wanted.role, control::agent_roles()));
  }
  auto answer = connection_->ask(control::ReserveRequest{
      connection_->secret, wanted.pid, wanted.name, wanted.parent, *role, wanted.uid});
  if (!answer) return tl::unexpected(std::move(answer.error()));
  auto* reserved = std::get_if<control::ReservedAnswer>(&answer->answer);
  if (reserved == nullptr) {
    return fail(ErrorCode::kProtocol, "the coordinator gave another answer than a reservation");
  }
  return Ticket{reserved->pid, std::move(reserved->name), std::move(reserved->ticket)};
}

Result<void> King::forget(Pid pid) {
  auto letters = connection_->client.forget(fmt::format("{}", pid));
  if (!letters) return tl::unexpected(std::move(letters.error()));
  return {};
}

std::optional<LifeEvent> King::next() {
  control::Client& client = connection_->client;
  while (auto announced = client.try_next()) {
    if (auto* life = std::get_if<control::LifeAnnouncement>(&*announced)) {
      return event_of(std::move(*life));
    }
  }
  (void)connection_->make_again(kMomentOfKing);
  if (!std::exchange(connection_->has_missed, false)) return std::nullopt;
  LifeEvent missed;
  missed.kind = Kind::kMissed;
  return missed;
}

int King::fd() const { return connection_->client.fd(); }

Result<void> King::end() {
  auto ended = connection_->ask(control::DownRequest{connection_->secret});
  if (!ended) return tl::unexpected(std::move(ended.error()));
  return {};
}

}  // namespace beeline
