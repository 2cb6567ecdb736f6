#pragma once

namespace web {

/// Binds the calling thread to one of the cores that the process may use, counted from `index` and
/// around again. Where the system has no such call, nothing happens.
void stay_on_core(unsigned index);

}  // namespace web
