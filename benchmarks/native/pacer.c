#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TICKS_AT_ONCE = 64 * 1024 };

struct schedule {
	uint64_t start_ns;
	double rate;
	uint64_t count;
};

static void sleep_until(uint64_t time_ns)
{
	struct timespec time = to_timespec(time_ns);
	int status;
	do
		status = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
	while (status == EINTR);
	errno = status;
	if (status != 0)
		fail_call("cannot sleep");
}

/* Counts the arrivals that are due now, from number `index` on. */
static size_t count_due(const struct schedule *schedule, uint64_t index)
{
	uint64_t now = now_ns();
	size_t due = 0;
	while (due < TICKS_AT_ONCE && index + due < schedule->count &&
		due_ns(schedule->start_ns, index + due, schedule->rate) <= now)
		due++;
	return due;
}

/* A pacer that is late writes all that is due at once: the reader counts bytes, so no arrival is lost. */
static void pace(const struct schedule *schedule)
{
	static char ticks[TICKS_AT_ONCE];
	memset(ticks, '.', sizeof ticks);
	for (uint64_t index = 0; index < schedule->count;) {
		size_t due = count_due(schedule, index);
		if (due == 0) {
			sleep_until(due_ns(schedule->start_ns, index, schedule->rate));
			continue;
		}
		write_fully(STDOUT_FILENO, ticks, due);
		index += due;
	}
}

int run_pacer(void)
{
	make_timers_precise();
	char *line = NULL;
	size_t capacity = 0;
	while (getline(&line, &capacity, stdin) > 0) {
		struct schedule schedule;
		int fields =
			sscanf(line, "START %" SCNu64 " %lf %" SCNu64, &schedule.start_ns, &schedule.rate, &schedule.count);
		if (fields != 3 || !(schedule.rate > 0))
			fail("the pacer understands: START <nanoseconds> <rate per second> <count>");
		pace(&schedule);
	}
	free(line);
	return 0;
}
