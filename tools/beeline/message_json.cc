#include "tools/beeline/message_json.h"

#include <string>

#include "src/control/trace_text.h"
#include "tools/beeline/times.h"

namespace beeline::cli {

Json id_json(MessageId id) { return id != 0 ? Json(id_text(id)) : Json(nullptr); }

Json message_json(const Message& message) {
  Json json;
  json["id"] = id_text(message.id());
  json["from"] = message.from();
  json["from_name"] = message.from_name();
  json["to"] = message.to();
  json["copy"] = message.is_copy();
  json["type"] = message.type();
  json["channel"] = message.channel();
  json["rank"] = message.rank();
  json["relation"] = to_string(message.relation());
  json["attempts"] = message.attempts();
  json["redelivered"] = message.redelivered();
  json["reply_to"] = id_json(message.reply_to());
  json["cause"] = id_json(message.cause());
  json["hops"] = message.hops();
  json["sent_unix_ms"] = sent_unix_ms(message.sent_ns());
  json["ttl_ms"] = message.ttl_ms();
  json["requires_ack"] = message.requires_ack();
  const std::string trace = control::to_text(message.trace());
  json["trace"] = trace.empty() ? Json(nullptr) : Json(trace);
  set_body(json, message.text());
  return json;
}

Json deliveries_json(const std::vector<Delivery>& deliveries) {
  Json json{{"id", nullptr}, {"targets", Json::array()}};
  for (const Delivery& to : deliveries) {
    if (to.result) json["id"] = id_text(to.result.id);
    json["targets"].push_back(
        {{"pid", to.pid}, {"name", to.name}, {"result", to_string(to.result.status)}});
  }
  return json;
}

}  // namespace beeline::cli
