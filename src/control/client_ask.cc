// The requests of a client that do not wait for their answers.

#include <array>
#include <utility>

#include "src/control/client.h"

namespace beeline::control {

Result<std::uint64_t> Client::ask(const Request& request, std::span<const int> fds) {
  const std::lock_guard lock(*mutex_);
  auto seq = post_now(request, fds);
  if (seq) pending_.expect(*seq);
  return seq;
}

Result<std::uint64_t> Client::ask_open(const OpenRequest& request, int link) {
  const std::array<int, 1> fds{link};
  return ask(request, fds);
}

std::optional<Result<RawAnswer>> Client::take_answer(std::uint64_t seq) {
  const std::lock_guard lock(*mutex_);
  if (!pending_.contains(seq)) {
    return fail(ErrorCode::kClosed,
                "the connection to the coordinator has ended before it answered; ask again");
  }
  auto answer = pending_.take(seq);
  if (!answer) return std::nullopt;
  if (auto* error = std::get_if<ErrorAnswer>(&answer->answer)) {
    return fail(error->code, std::move(error->text));
  }
  return std::move(*answer);
}

std::optional<Result<Opened>> Client::take_opened(std::uint64_t seq) {
  auto answer = take_answer(seq);
  if (!answer) return std::nullopt;
  return opened_of(std::move(*answer));
}

void Client::forget_answer(std::uint64_t seq) {
  const std::lock_guard lock(*mutex_);
  pending_.forget(seq);
}

Result<void> Client::fade(shm::Incarnation incarnation, std::uint32_t serial, bool gone) {
  const std::lock_guard lock(*mutex_);
  return post_unheard(FadeRequest{incarnation, serial, gone});
}

Result<void> Client::tell(shm::Incarnation incarnation, std::uint32_t serial) {
  const std::lock_guard lock(*mutex_);
  return post_unheard(TellRequest{incarnation, serial});
}

Result<void> Client::report(const ReportRequest& wanted) {
  const std::lock_guard lock(*mutex_);
  return post_unheard(wanted);
}

Result<void> Client::letters_done(const LettersDoneRequest& wanted) {
  const std::lock_guard lock(*mutex_);
  if (auto sent = post(wanted); !sent) return tl::unexpected(std::move(sent.error()));
  return {};
}

}  // namespace beeline::control
