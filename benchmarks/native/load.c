#define _GNU_SOURCE
#include "load.h"

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_STAMPS = 4096 };

static const uint64_t NEVER = UINT64_MAX;

struct run {
	struct connection *connection;
	const struct load_plan *plan;
	struct samples *samples;
	struct load_result *result;
	uint64_t start_ns;
	uint64_t arrivals;
	bool measuring;
};

void connection_open(struct connection *connection, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof address.sun_path)
		fail("the path of the socket is too long");
	strcpy(address.sun_path, path);
	*connection = (struct connection){ .stamps_capacity = FIRST_STAMPS };
	connection->stamps = calloc(FIRST_STAMPS, sizeof *connection->stamps);
	if (connection->stamps == NULL)
		fail("no memory for stamps");
	memset(connection->message, 'x', MESSAGE_BYTES);
	connection->descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection->descriptor < 0)
		fail_call("cannot make a socket");
	if (connect(connection->descriptor, (struct sockaddr *)&address, sizeof address) != 0)
		fail_call("cannot connect to the server");
	/* It never blocks in a write, since a server that waits for its replies to be read would never read again. */
	if (fcntl(connection->descriptor, F_SETFL, O_NONBLOCK) != 0)
		fail_call("cannot make the socket non-blocking");
}

static uint64_t *stamp_of(struct connection *connection, uint64_t number)
{
	return &connection->stamps[number & (connection->stamps_capacity - 1)];
}

/* An open load has no bound of calls in flight: a server that stalls must not stop the arrivals. */
static void grow_stamps(struct connection *connection)
{
	struct connection grown = *connection;
	grown.stamps_capacity *= 2;
	grown.stamps = calloc(grown.stamps_capacity, sizeof *grown.stamps);
	if (grown.stamps == NULL)
		fail("no memory for stamps");
	for (uint64_t number = connection->received; number < connection->sent; number++)
		*stamp_of(&grown, number) = *stamp_of(connection, number);
	free(connection->stamps);
	connection->stamps = grown.stamps;
	connection->stamps_capacity = grown.stamps_capacity;
}

/* Writes what is left of the message. Returns false when the socket had no room for all of it. */
static bool write_message(struct connection *connection)
{
	const unsigned char *rest = connection->message + MESSAGE_BYTES - connection->unsent;
	ssize_t written = write(connection->descriptor, rest, connection->unsent);
	if (written < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return false;
		fail_call("cannot write to the server");
	}
	connection->unsent -= (size_t)written;
	return connection->unsent == 0;
}

/* Sends one call, whose latency began at `stamp`. Returns false when the socket had no room for all of it. */
static bool send_call(struct connection *connection, uint64_t stamp)
{
	if (connection->unsent > 0 && !write_message(connection))
		return false;
	if (connection->sent - connection->received == connection->stamps_capacity)
		grow_stamps(connection);
	memcpy(connection->message, &connection->sent, sizeof connection->sent);
	connection->unsent = MESSAGE_BYTES;
	bool complete = write_message(connection);
	if (connection->unsent == MESSAGE_BYTES) {
		connection->unsent = 0;
		return false;
	}
	*stamp_of(connection, connection->sent) = stamp;
	connection->sent++;
	return complete;
}

static bool is_sampled(const struct run *run)
{
	return run->connection->sent % run->plan->sample_every == 0;
}

/* Tops the calls in flight up, each by a write of its own. Returns false when the socket has no room. */
static bool send_closed(struct run *run)
{
	struct connection *connection = run->connection;
	while (connection->sent - connection->received < run->plan->in_flight)
		if (!send_call(connection, is_sampled(run) ? now_ns() : 0))
			return false;
	return true;
}

static uint64_t next_arrival_ns(const struct run *run)
{
	return due_ns(run->start_ns, run->arrivals, run->plan->rate);
}

/*
 * Sends every call that is due, and returns false when the socket has no room. The latency begins when the call was
 * due and not when it was written, so that a stall is paid for by all the calls that had to wait for it.
 */
static bool send_open(struct run *run, uint64_t now)
{
	for (uint64_t due = next_arrival_ns(run); due <= now; due = next_arrival_ns(run)) {
		uint64_t sent_before = run->connection->sent;
		bool complete = send_call(run->connection, is_sampled(run) ? due : 0);
		run->arrivals += run->connection->sent - sent_before;
		if (!complete)
			return false;
	}
	return true;
}

static void complete_call(struct run *run, const unsigned char *reply, uint64_t now)
{
	struct connection *connection = run->connection;
	uint64_t number;
	memcpy(&number, reply, sizeof number);
	uint64_t stamp = *stamp_of(connection, connection->received);
	bool expected = number == connection->received;
	connection->received++;
	if (!run->measuring)
		return;
	run->result->calls++;
	if (!expected)
		run->result->errors++;
	if (stamp != 0)
		samples_add(run->samples, now - stamp);
}

/* One read takes all that has come, up to the size of the inbox; a piece of a message waits there for its rest. */
static void receive(struct run *run)
{
	struct connection *connection = run->connection;
	unsigned char *inbox = connection->inbox;
	ssize_t length =
		read(connection->descriptor, inbox + connection->inbox_length, INBOX_BYTES - connection->inbox_length);
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (length == 0)
		errno = ECONNRESET;
	if (length <= 0)
		fail_call("cannot read from the server");
	uint64_t now = now_ns();
	connection->inbox_length += (size_t)length;
	size_t consumed = 0;
	for (; connection->inbox_length - consumed >= MESSAGE_BYTES; consumed += MESSAGE_BYTES)
		complete_call(run, inbox + consumed, now);
	connection->inbox_length -= consumed;
	memmove(inbox, inbox + consumed, connection->inbox_length);
}

/* Waits for a reply, for room when `blocked`, or until `wake_ns`, and takes the replies that are there. */
static void wait_and_receive(struct run *run, bool blocked, uint64_t wake_ns)
{
	struct pollfd entry = { .fd = run->connection->descriptor, .events = POLLIN };
	if (blocked)
		entry.events |= POLLOUT;
	struct timespec timeout = { 0 };
	if (wake_ns != NEVER) {
		uint64_t now = now_ns();
		timeout = to_timespec(wake_ns > now ? wake_ns - now : 0);
	}
	int ready = ppoll(&entry, 1, wake_ns == NEVER ? NULL : &timeout, NULL);
	if (ready < 0 && errno != EINTR)
		fail_call("cannot wait for the server");
	if (ready > 0 && (entry.revents & ~POLLOUT) != 0)
		receive(run);
}

static uint64_t earlier(uint64_t first, uint64_t second)
{
	return first < second ? first : second;
}

static void drive_until(struct run *run, uint64_t deadline_ns)
{
	for (uint64_t now = now_ns(); now < deadline_ns; now = now_ns()) {
		bool blocked = run->plan->open ? !send_open(run, now) : !send_closed(run);
		bool until_arrival = run->plan->open && !blocked;
		wait_and_receive(run, blocked, until_arrival ? earlier(next_arrival_ns(run), deadline_ns) : deadline_ns);
	}
}

static void drain(struct run *run)
{
	struct connection *connection = run->connection;
	while (connection->received < connection->sent) {
		bool blocked = connection->unsent > 0 && !write_message(connection);
		wait_and_receive(run, blocked, NEVER);
	}
}

/* The load goes on from the warm-up into the window without a stop between. */
static void measure(struct run *run, pid_t server)
{
	/* The client is read nearest to the window, since the reading of the server costs the client time. */
	uint64_t server_before = processor_time_ns(server);
	uint64_t client_before = processor_time_ns(getpid());
	uint64_t begin_ns = now_ns();
	run->measuring = true;
	drive_until(run, begin_ns + run->plan->duration_ns);
	run->measuring = false;
	run->result->elapsed_ns = now_ns() - begin_ns;
	run->result->client_processor_ns = processor_time_ns(getpid()) - client_before;
	run->result->server_processor_ns = processor_time_ns(server) - server_before;
}

void run_load(struct connection *connection, const struct load_plan *plan, pid_t server, struct samples *samples,
	struct load_result *result)
{
	*result = (struct load_result){ 0 };
	samples_clear(samples);
	struct run run = {
		.connection = connection,
		.plan = plan,
		.samples = samples,
		.result = result,
		.start_ns = now_ns(),
	};
	drive_until(&run, run.start_ns + plan->warmup_ns);
	measure(&run, server);
	drain(&run);
}
