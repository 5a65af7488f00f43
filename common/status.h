// Status codes of the driver and the crypto API, one per errno that a kernel driver would return.
//
// The driver does not throw: every operation that can fail returns a Status. `InProgress` and `Busy`
// are the two "accepted" codes of the asynchronous contract (see driver/crypto/request.h):
//   Ok          done synchronously, no callback will come
//   InProgress  accepted, exactly one callback follows
//   Busy        accepted on the backlog: callback(InProgress) when it starts, then the final callback
// Everything else means that the request belongs to the caller again and no callback will come.
#pragma once
#include <string_view>

namespace sec {

enum class [[nodiscard]] Status : int {
  Ok = 0,
  InProgress,  // EINPROGRESS
  Busy,        // EBUSY: queued on the backlog
  NoSpace,     // ENOSPC: queue full, request dropped
  BadMessage,  // EBADMSG: integrity check failed
  Invalid,     // EINVAL
  NoKey,       // ENOKEY
  NoMemory,    // ENOMEM
  Io,          // EIO: device failure
  Again,       // EAGAIN: lost to a fetch FIFO overflow; may be sent again
  NotSupported,  // EOPNOTSUPP
  NoEntry,     // ENOENT: no such algorithm
  TimedOut,    // ETIMEDOUT: a named wait reached its limit
};

constexpr std::string_view errno_name(Status s) {
  switch (s) {
    case Status::Ok: return "OK";
    case Status::InProgress: return "EINPROGRESS";
    case Status::Busy: return "EBUSY";
    case Status::NoSpace: return "ENOSPC";
    case Status::BadMessage: return "EBADMSG";
    case Status::Invalid: return "EINVAL";
    case Status::NoKey: return "ENOKEY";
    case Status::NoMemory: return "ENOMEM";
    case Status::Io: return "EIO";
    case Status::Again: return "EAGAIN";
    case Status::NotSupported: return "EOPNOTSUPP";
    case Status::NoEntry: return "ENOENT";
    case Status::TimedOut: return "ETIMEDOUT";
  }
  return "?";
}

/// True when the request was taken and a callback will follow.
constexpr bool accepted(Status s) { return s == Status::InProgress || s == Status::Busy; }

}  // namespace sec
