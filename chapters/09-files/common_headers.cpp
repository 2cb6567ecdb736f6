// TODO(9): CommonHeaders::set_date() writes over the date in text_, whose places never change: no
// format string is needed, nor a library that asks for a time zone. std::chrono::year_month_day,
// weekday and hh_mm_ss take the seconds apart.
#include "common_headers.h"
