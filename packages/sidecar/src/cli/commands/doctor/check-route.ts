import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

import type { InstanceExplanation } from '@spock/protocol';
import { isHost, messageOf } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

import type { Place } from '../../client/place.ts';
import { formatDuration } from '../../output/figures.ts';
import { type Finding, failed, ok, warning } from './diagnosis.ts';

/** So many instances are connected to, at the same time. */
const TRIED_MAX = 3;
/** Longest wait for a connection, also where --timeout allows more: what takes longer is no use to an app. */
export const CONNECT_MS_MAX = 2000;

/** Whether instances that get work accept a TCP connection from here; nothing is sent. */
export async function checkRoute(
	instances: readonly InstanceExplanation[],
	timeoutMs: number,
	place: Place,
): Promise<Finding> {
	const served = instances.filter(({ included }) => included);
	const tried = served.filter(({ port }) => port > 0).slice(0, TRIED_MAX);
	if (tried.length === 0) {
		const why = served.length === 0 ? 'no instance gets work' : 'no instance has a port';
		return { check: 'route', result: 'not-checked', found: why, next: null };
	}
	const limitMs = Math.min(timeoutMs, CONNECT_MS_MAX);
	const attempts = await Promise.all(tried.map((instance) => attempt(instance, limitMs)));
	const bad = attempts.filter(({ error }) => error !== undefined);
	const of = served.length > tried.length ? ` (${tried.length} of ${served.length} tried)` : '';
	const text = `${attempts.map(({ text }) => text).join('; ')}${of}`;
	const [first] = bad;
	if (first?.error === undefined) return ok('route', text);
	const next = nextFor(first.error, place);
	return bad.length === attempts.length ? failed('route', text, next) : warning('route', text, next);
}

interface Attempt {
	readonly text: string;
	readonly error: NodeJS.ErrnoException | undefined;
}

async function attempt({ host, port }: InstanceExplanation, timeoutMs: number): Promise<Attempt> {
	const address = formatAddress({ host, port });
	// As the client does: nothing is looked up for a name that cannot be one.
	if (!isHost(host)) return { text: `${address}: its host is invalid`, error: new Error('invalid host') };
	const startedAt = performance.now();
	let socket: Socket | undefined;
	let timer: NodeJS.Timeout | undefined;
	const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
		socket = connect({ host, port });
		socket.once('connect', () => resolve(undefined));
		socket.on('error', resolve);
		const silent = `no answer within ${formatDuration(timeoutMs)}`;
		timer = setTimeout(() => resolve(Object.assign(new Error(silent), { code: 'ETIMEDOUT' })), timeoutMs);
	});
	clearTimeout(timer);
	socket?.destroy();
	if (error === undefined)
		return { text: `${address} accepts (${formatDuration(performance.now() - startedAt)})`, error };
	const refused = error.code === 'ECONNREFUSED' ? 'refuses the connection' : messageOf(error);
	return { text: `${address}: ${refused}`, error };
}

function nextFor({ code }: NodeJS.ErrnoException, { isPod }: Place): string {
	switch (code) {
		case undefined:
			return 'register the instance anew, with a valid host';
		case 'ECONNREFUSED':
			return 'no process listens there: start the app, or compare its port; if it listens at 127.0.0.1 alone, register it with `host`, start the sidecar with --advertise, or let it listen at 0.0.0.0';
		case 'ENOTFOUND':
		case 'EAI_AGAIN':
			return 'the host name does not resolve here: register an IP address, or fix the DNS of this machine';
		default: {
			const policy = isPod ? 'NetworkPolicy of both pods' : 'a firewall';
			return `there is no way from here: ${policy}, or an address of another network (--consul-tagged-address)`;
		}
	}
}
