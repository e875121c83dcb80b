// Agents come and go.

#include <beeline/c/agent.h>

#include <memory>
#include <utility>

#include <beeline/attaching.h>

#include "src/c/agent_handle.h"
#include "src/c/arguments.h"
#include "src/c/options.h"

using namespace beeline::c;  // NOLINT(google-build-using-namespace): this is its outside

struct beeline_attaching {
  beeline::Attaching attaching;
};

namespace {

beeline_code hand_over(beeline::Result<beeline::Agent> attached, beeline_agent** agent) {
  if (!attached) return failed(std::move(attached.error()));
  *agent = new beeline_agent(std::move(*attached));
  return BEELINE_OK;
}

}  // namespace

beeline_code beeline_attach(const beeline_attach_options* options, beeline_agent** agent) {
  return checked(__func__, {{"agent", agent}}, [&](const char* function) -> beeline_code {
    *agent = nullptr;
    beeline::AttachOptions wanted;
    const beeline_code read = read_options(function, options, wanted);
    return read == BEELINE_OK ? hand_over(beeline::Agent::attach(wanted), agent) : read;
  });
}

beeline_code beeline_attach_start(const beeline_attach_options* options,
                                  beeline_attaching** attaching) {
  return checked(__func__, {{"attaching", attaching}}, [&](const char* function) -> beeline_code {
    *attaching = nullptr;
    beeline::AttachOptions wanted;
    const beeline_code read = read_options(function, options, wanted);
    if (read != BEELINE_OK) return read;
    auto started = beeline::Attaching::start(wanted);
    if (!started) return failed(std::move(started.error()));
    *attaching = new beeline_attaching{std::move(*started)};
    return BEELINE_OK;
  });
}

int beeline_attaching_fd(const beeline_attaching* attaching) {
  return attaching == nullptr ? -1 : attaching->attaching.fd();
}

beeline_code beeline_attach_finish(beeline_attaching* attaching, beeline_agent** agent) {
  return checked(__func__, {{"attaching", attaching}, {"agent", agent}},
                 [&](const char*) -> beeline_code {
                   *agent = nullptr;
                   return hand_over(attaching->attaching.finish(), agent);
                 });
}

void beeline_attaching_free(beeline_attaching* attaching) { delete attaching; }

beeline_code beeline_detach(beeline_agent* agent, int64_t drain_ns, uint64_t* left) {
  return checked(__func__, {{"agent", agent}}, [&](const char*) -> beeline_code {
    const std::uint64_t rest = agent->agent.detach(deadline_of(drain_ns));
    if (left != nullptr) *left = rest;
    return BEELINE_OK;
  });
}

// A handler cannot take the agent from under its beeline_serve(), which frees it at its end.
void beeline_close(beeline_agent* agent) {
  if (agent == nullptr) return;
  if (agent->serving != 0) {
    agent->is_closed_inside = true;
    agent->agent.detach();
    return;
  }
  delete agent;
}

beeline_pid beeline_agent_pid(const beeline_agent* agent) {
  return agent == nullptr ? 0 : agent->agent.pid();
}
beeline_pid beeline_agent_parent(const beeline_agent* agent) {
  return agent == nullptr ? 0 : agent->agent.parent();
}
const char* beeline_agent_name(const beeline_agent* agent) {
  return agent == nullptr ? "" : agent->agent.name().c_str();
}
uint64_t beeline_agent_incarnation(const beeline_agent* agent) {
  return agent == nullptr ? 0 : agent->agent.incarnation();
}

beeline_code beeline_find_peer(beeline_agent* agent, const char* name, size_t length,
                               beeline_peer* peer) {
  return checked(__func__, {{"agent", agent}, {"name", name}, {"peer", peer}},
                 [&](const char*) -> beeline_code {
                   auto found = agent->agent.peer(text_of(name, length));
                   if (!found) return failed(std::move(found.error()));
                   *peer = peer_of(*found);
                   return BEELINE_OK;
                 });
}

beeline_code beeline_wait_for(beeline_agent* agent, const char* name, size_t length,
                              int64_t timeout_ns, int32_t process, int stop_fd,
                              beeline_peer* peer) {
  return checked(__func__, {{"agent", agent}, {"name", name}, {"peer", peer}},
                 [&](const char*) -> beeline_code {
                   beeline::WaitOptions options;
                   options.process = process;
                   options.stop_fd = stop_fd;
                   auto found = agent->agent.wait_for(text_of(name, length),
                                                      deadline_of(timeout_ns), options);
                   if (!found) return failed(std::move(found.error()));
                   *peer = peer_of(*found);
                   return BEELINE_OK;
                 });
}

bool beeline_urgent(beeline_agent* agent) {
  if (agent == nullptr) return false;
  return guarded_or(__func__, false, [&] { return agent->agent.urgent(); });
}
void beeline_set_sleeping(beeline_agent* agent, bool sleeping) {
  if (agent != nullptr) agent->agent.set_sleeping(sleeping);
}
