// TODO(10): parse_date(), in three forms. strptime(3) takes more than the RFC does: what was read,
// written again by strftime(3), must be the same text.
#include "date.h"
