#pragma once
// Owners of the objects of hiredis.

#include <hiredis/hiredis.h>

#include <memory>

namespace beeline::bench::peers {

struct FreeContext {
  void operator()(redisContext* context) const { ::redisFree(context); }
};
using Context = std::unique_ptr<redisContext, FreeContext>;

struct FreeReply {
  void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

}  // namespace beeline::bench::peers
