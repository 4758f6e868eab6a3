#ifndef ECHO_LOAD_H
#define ECHO_LOAD_H

#include "samples.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MESSAGE_BYTES = 64, INBOX_BYTES = 1024 * MESSAGE_BYTES };

struct load_plan {
	/* An open load has arrivals at a fixed rate, a closed one a fixed number of calls in flight. */
	bool open;
	double rate;
	uint64_t in_flight;
	uint64_t warmup_ns;
	uint64_t duration_ns;
	uint64_t sample_every;
};

struct load_result {
	uint64_t calls;
	uint64_t errors;
	uint64_t elapsed_ns;
	uint64_t client_processor_ns;
	uint64_t server_processor_ns;
};

/*
 * The connection to the server. Replies come in order, so the calls in flight are the numbers from `received` to
 * `sent`, and `stamps`, a ring as long as a power of two, holds for each of them when its latency began: 0 when it is
 * not sampled.
 */
struct connection {
	int descriptor;
	uint64_t sent;
	uint64_t received;
	uint64_t *stamps;
	size_t stamps_capacity;
	/* This is the message being written, of which the last `unsent` bytes found no room yet. */
	unsigned char message[MESSAGE_BYTES];
	size_t unsent;
	unsigned char inbox[INBOX_BYTES];
	size_t inbox_length;
};

void connection_open(struct connection *connection, const char *path);

/* Runs one load to its end. Nothing is in flight before it and nothing after it. */
void run_load(struct connection *connection, const struct load_plan *plan, pid_t server, struct samples *samples,
	struct load_result *result);

#endif
