#include "src/buffer/service/orders.h"

#include <string_view>

#include <fmt/format.h>

namespace beeline::buffer {

std::string sender_name(const Lease& lease) {
  const std::string_view name = lease.from_name();
  return name.empty() ? fmt::format("pid {}", lease.from()) : std::string(name);
}

void Orders::give(Request request, Then then, Lease lease) {
  auto order = std::make_unique<Order>();
  const Put* const put = std::get_if<Put>(&request);
  const std::size_t bytes = put == nullptr ? 0 : put->payload.size();
  bytes_ += bytes;
  order->request = std::move(request);
  open_.push_back({std::move(then), std::move(lease), bytes});
  if (!waiting_.empty() || !writer_.submit(order)) waiting_.push_back(std::move(order));
}

void Orders::hear() {
  while (auto order = writer_.take()) {
    Open open = std::move(open_.front());
    open_.pop_front();
    bytes_ -= open.bytes;
    submit_waiting();
    open.then(std::move(open.lease), std::move(order->answer));
  }
}

void Orders::submit_waiting() {
  while (!waiting_.empty() && writer_.submit(waiting_.front())) waiting_.pop_front();
}

}  // namespace beeline::buffer
