// TODO(9.1): CommonHeaders::set_date() overwrites the date in text_, whose positions never change,
// so it needs neither a format string nor a library that looks up a time zone.
// std::chrono::year_month_day, weekday and hh_mm_ss split the seconds.
#include "common_headers.h"
