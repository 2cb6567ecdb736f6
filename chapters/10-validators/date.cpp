// TODO(10): parse_date(), in three forms. strptime(3) accepts more than the RFC does, so format the
// result again with strftime(3) and require the same text.
// TODO(10): write_date(), with the code of CommonHeaders::set_date().
#include "date.h"
