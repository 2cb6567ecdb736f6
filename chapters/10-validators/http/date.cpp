// TODO(10.1): write_date(), with the code of CommonHeaders::set_date().
// TODO(10.3): parse_date(), in three forms. strptime(3) accepts more than the RFC does, so format
// the result again with strftime(3) and require the same text.
#include "date.h"
