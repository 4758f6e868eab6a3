#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

_Noreturn void fail(const char *what)
{
	fprintf(stderr, "echo: %s\n", what);
	exit(1);
}

_Noreturn void fail_call(const char *what)
{
	fprintf(stderr, "echo: %s: %s\n", what, strerror(errno));
	exit(1);
}

uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NANOSECONDS_PER_SECOND + (uint64_t)now.tv_nsec;
}

struct timespec to_timespec(uint64_t nanoseconds)
{
	return (struct timespec){
		.tv_sec = (time_t)(nanoseconds / NANOSECONDS_PER_SECOND),
		.tv_nsec = (long)(nanoseconds % NANOSECONDS_PER_SECOND),
	};
}

uint64_t due_ns(uint64_t start_ns, uint64_t index, double rate_per_second)
{
	return start_ns + (uint64_t)((double)index * (double)NANOSECONDS_PER_SECOND / rate_per_second);
}

void end_with_parent(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0)
		fail_call("cannot ask for a signal at the parent's death");
}

void make_timers_precise(void)
{
	/* One nanosecond is the least: zero would mean the default. */
	if (prctl(PR_SET_TIMERSLACK, 1UL) != 0)
		fail_call("cannot set the timer slack");
}

void write_fully(int descriptor, const void *bytes, size_t length)
{
	const char *next = bytes;
	while (length > 0) {
		ssize_t written = write(descriptor, next, length);
		if (written < 0) {
			if (errno == EINTR)
				continue;
			fail_call("cannot write");
		}
		next += written;
		length -= (size_t)written;
	}
}
