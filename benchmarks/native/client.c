#define _GNU_SOURCE
#include "common.h"
#include "load.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the text after `"name":`, or NULL. The benchmark writes these lines itself, so nothing in them is nested. */
static const char *find_field(const char *line, const char *name)
{
	char key[32];
	snprintf(key, sizeof key, "\"%s\":", name);
	const char *found = strstr(line, key);
	return found == NULL ? NULL : found + strlen(key);
}

static uint64_t read_number(const char *line, const char *name)
{
	const char *text = find_field(line, name);
	char *end = NULL;
	uint64_t number = text == NULL ? 0 : strtoull(text, &end, 10);
	if (text == NULL || end == text)
		fail("a load lacks one of its numbers");
	return number;
}

static uint64_t read_positive(const char *line, const char *name)
{
	uint64_t number = read_number(line, name);
	if (number == 0)
		fail("a number of a load must not be 0");
	return number;
}

static struct load_plan read_plan(const char *line)
{
	const char *kind = find_field(line, "kind");
	if (kind == NULL || (strncmp(kind, "\"open\"", 6) != 0 && strncmp(kind, "\"closed\"", 8) != 0))
		fail("the kind of a load is open or closed");
	struct load_plan plan = {
		.open = strncmp(kind, "\"open\"", 6) == 0,
		.warmup_ns = read_number(line, "warmupMs") * NANOSECONDS_PER_MILLISECOND,
		.duration_ns = read_positive(line, "durationMs") * NANOSECONDS_PER_MILLISECOND,
		.sample_every = read_positive(line, "sampleEvery"),
	};
	if (plan.open)
		plan.rate = (double)read_positive(line, "rate");
	else
		plan.in_flight = read_positive(line, "inFlight");
	return plan;
}

static double microseconds(uint64_t nanoseconds)
{
	return (double)nanoseconds / 1e3;
}

static void print_result(const struct load_result *result, struct samples *samples)
{
	samples_sort(samples);
	printf("{\"calls\":%llu,\"errors\":%llu,\"elapsedMs\":%.3f,", (unsigned long long)result->calls,
		(unsigned long long)result->errors, (double)result->elapsed_ns / 1e6);
	printf("\"p50Us\":%.3f,\"p99Us\":%.3f,\"p999Us\":%.3f,\"maxUs\":%.3f,",
		microseconds(samples_percentile(samples, 0.5)), microseconds(samples_percentile(samples, 0.99)),
		microseconds(samples_percentile(samples, 0.999)), microseconds(samples_percentile(samples, 1)));
	printf("\"clientCpuUs\":%.3f,\"serverCpuUs\":%.3f}\n", microseconds(result->client_processor_ns),
		microseconds(result->server_processor_ns));
	fflush(stdout);
}

int run_client(const char *path, pid_t server)
{
	static struct connection connection;
	static struct samples samples;
	make_timers_precise();
	/* A server that is gone is an error with a text and not a silent death by signal. */
	signal(SIGPIPE, SIG_IGN);
	connection_open(&connection, path);
	puts("{\"ready\":true}");
	fflush(stdout);
	char *line = NULL;
	size_t capacity = 0;
	while (getline(&line, &capacity, stdin) > 0) {
		struct load_plan plan = read_plan(line);
		struct load_result result;
		run_load(&connection, &plan, server, &samples, &result);
		print_result(&result, &samples);
	}
	free(line);
	return 0;
}
