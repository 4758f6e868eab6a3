#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BUFFER_BYTES = 64 * 1024, EVENTS_AT_ONCE = 64 };

enum source_kind { SOURCE_END, SOURCE_LISTENER, SOURCE_CONNECTION };

/* This is what epoll hands back, to say whose descriptor is ready. */
struct source {
	enum source_kind kind;
	int descriptor;
};

struct connection {
	struct source source;
	/* The bytes from `start` to `end` were read and could not be written yet. */
	size_t start;
	size_t end;
	char buffer[BUFFER_BYTES];
};

static void watch(int epoll, struct source *source, uint32_t events, int operation)
{
	struct epoll_event event = { .events = events, .data.ptr = source };
	if (epoll_ctl(epoll, operation, source->descriptor, &event) != 0)
		fail_call("cannot watch a descriptor");
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof address.sun_path)
		fail("the path of the socket is too long");
	strcpy(address.sun_path, path);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener < 0)
		fail_call("cannot make a socket");
	if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0)
		fail_call("cannot bind the socket");
	if (listen(listener, SOMAXCONN) != 0)
		fail_call("cannot listen");
	return listener;
}

/* SIGTERM comes as a readable descriptor, so that the socket's file is removed by ordinary code. */
static int termination_descriptor(void)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	int descriptor = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	if (descriptor < 0)
		fail_call("cannot watch for SIGTERM");
	return descriptor;
}

static void accept_connection(int epoll, int listener)
{
	int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	/* The caller may have gone before it was accepted, which is no concern of the others. */
	if (descriptor < 0)
		return;
	struct connection *connection = malloc(sizeof *connection);
	if (connection == NULL)
		fail("no memory for a connection");
	connection->source = (struct source){ SOURCE_CONNECTION, descriptor };
	connection->start = 0;
	connection->end = 0;
	watch(epoll, &connection->source, EPOLLIN, EPOLL_CTL_ADD);
}

static void close_connection(struct connection *connection)
{
	close(connection->source.descriptor);
	free(connection);
}

static bool would_block(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* Returns false when the peer is gone. */
static bool flush_connection(struct connection *connection)
{
	size_t length = connection->end - connection->start;
	ssize_t written = send(connection->source.descriptor, connection->buffer + connection->start, length, MSG_NOSIGNAL);
	if (written < 0)
		return would_block();
	connection->start += (size_t)written;
	return true;
}

/* Returns false when the peer is gone or has ended its side. */
static bool fill_connection(struct connection *connection)
{
	ssize_t length = read(connection->source.descriptor, connection->buffer, sizeof connection->buffer);
	if (length < 0)
		return would_block();
	connection->start = 0;
	connection->end = (size_t)length;
	return length > 0;
}

/* While bytes wait to be written nothing more is read: the peer's own buffer then holds it back. */
static void serve_connection(int epoll, struct connection *connection)
{
	bool was_waiting = connection->start < connection->end;
	bool alive = was_waiting || fill_connection(connection);
	if (alive && connection->start < connection->end)
		alive = flush_connection(connection);
	if (!alive) {
		close_connection(connection);
		return;
	}
	bool is_waiting = connection->start < connection->end;
	if (is_waiting != was_waiting)
		watch(epoll, &connection->source, is_waiting ? EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
}

/* Returns true when the server shall end: at SIGTERM, or at the end of stdin, which says that the benchmark is gone. */
static bool is_end(int descriptor)
{
	char ignored[sizeof(struct signalfd_siginfo)];
	ssize_t length = read(descriptor, ignored, sizeof ignored);
	if (length < 0)
		return !would_block();
	return descriptor != STDIN_FILENO || length == 0;
}

/* Returns true when the server shall end. */
static bool serve_source(int epoll, struct source *source)
{
	switch (source->kind) {
	case SOURCE_END:
		return is_end(source->descriptor);
	case SOURCE_LISTENER:
		accept_connection(epoll, source->descriptor);
		return false;
	case SOURCE_CONNECTION:
		serve_connection(epoll, (struct connection *)source);
		return false;
	}
	return false;
}

static void serve(int epoll)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	for (;;) {
		int count = epoll_wait(epoll, events, EVENTS_AT_ONCE, -1);
		if (count < 0 && errno != EINTR)
			fail_call("cannot wait for events");
		for (int index = 0; index < count; index++)
			if (serve_source(epoll, events[index].data.ptr))
				return;
	}
}

int run_server(const char *path)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0)
		fail_call("cannot make an epoll");
	/* What says that it is time to end is watched before there is a file to remove. */
	struct source input = { SOURCE_END, STDIN_FILENO };
	struct source termination = { SOURCE_END, termination_descriptor() };
	watch(epoll, &input, EPOLLIN, EPOLL_CTL_ADD);
	watch(epoll, &termination, EPOLLIN, EPOLL_CTL_ADD);
	struct source listener = { SOURCE_LISTENER, listen_at(path) };
	watch(epoll, &listener, EPOLLIN, EPOLL_CTL_ADD);
	write_fully(STDOUT_FILENO, "ready\n", 6);
	serve(epoll);
	unlink(path);
	return 0;
}
