import type { BackendStatus, KeyWatchStatus, RegistrationStatus, StatusReply, WatchStatus } from '@spock/protocol';
import { queryLabel } from '@spock/protocol/internal';

import type { ClientFlags } from '../client/sidecar-target.ts';
import { withClient } from '../client/with-client.ts';
import { print, printable } from '../output/output.ts';

const MIB = 1_048_576;

/** `sidecar status` */
export async function status(flags: ClientFlags): Promise<void> {
	await withClient(flags, async (client, options) => {
		const reply = await client.request('status', null, options);
		print(flags.json ? JSON.stringify(reply) : formatStatus(reply));
	});
}

/** A page of text for people. */
export function formatStatus(reply: StatusReply): string {
	const { backend } = reply;
	const counters = Object.entries(reply.counters).map(([name, count]) => `${name} ${count}`);
	return [
		`${reply.sidecar}, pid ${reply.pid}, up ${seconds(reply.uptimeMs)}, ${reply.phase}, ${reply.ready ? 'ready' : 'not ready'}`,
		...reply.reasons.map((reason) => `             ${reason}`),
		...(backend.members ?? [backend]).flatMap(formatBackend),
		`connections  ${reply.connections} open; ${counters.join(', ')}`,
		...formatClients(reply),
		`watches      ${reply.watches.length}, ${count(reply.subscriptions, 'subscription')}`,
		...formatOversize(reply),
		...reply.watches.map(formatWatch),
		// Missing from a sidecar of an earlier version.
		...(reply.keyWatches ?? []).map(formatKeyWatch),
		`registered   ${reply.registrations.length}`,
		...reply.registrations.map(formatRegistration),
		...formatEvents(reply),
	]
		.map(printable)
		.join('\n');
}

function formatBackend({ name, state, lastSuccessAgeMs, addresses, error }: BackendStatus): string[] {
	const heard = lastSuccessAgeMs === null ? 'never heard' : `heard ${seconds(lastSuccessAgeMs)} ago`;
	const line = `backend      ${name} ${state}, ${heard}: ${addresses.join(', ') || 'no address'}`;
	return error === null ? [line] : [line, `             ${error}`];
}

/** Missing from a sidecar of an earlier version. Clients choose their names, which must not write on the terminal. */
function formatClients({ clients = [], connections }: StatusReply): string[] {
	const names = clients.map(({ client, pid }) => `${client ?? '(sent no hello)'}${pid === null ? '' : ` pid ${pid}`}`);
	const more = connections > clients.length ? [`${connections - clients.length} more`] : [];
	return clients.length === 0 ? [] : [`             ${printable([...names, ...more].join(', '))}`];
}

function formatOversize({ oversizeSubscriptions: count }: StatusReply): string[] {
	// Missing from a sidecar of an earlier version.
	return count > 0 ? [`             ${count} too long for their client: raise frameBytesMax at both ends`] : [];
}

function formatWatch(watch: WatchStatus): string {
	const name = `${watch.service} ${queryLabel(watch)}`.trimEnd();
	return formatLine(name, `${watch.healthyInstances}/${watch.instances} healthy`, watch);
}

function formatKeyWatch(watch: KeyWatchStatus): string {
	const found = watch.prefix === true ? count(watch.entries, 'key') : watch.entries === 0 ? 'no such key' : 'there';
	const place = watch.datacenter === undefined ? '' : ` @${watch.datacenter}`;
	return formatLine(`key ${watch.key}${watch.prefix === true ? '…' : ''}${place}`, found, watch);
}

function formatLine(name: string, found: string, watch: WatchStatus | KeyWatchStatus): string {
	const age = watch.state === 'stale' || watch.state === 'held' ? `, ${seconds(watch.ageMs)} old` : '';
	const error = watch.error === null ? '' : `: ${watch.error}`;
	return `  ${name}  ${watch.state}${age}, ${found}, ${count(watch.readers, 'reader')}, revision ${watch.revision}${error}`;
}

function formatRegistration(registration: RegistrationStatus): string {
	const { service, id, phase, state, status, note, holders, error } = registration;
	const why = error === null ? '' : `: ${error}`;
	const said = note === undefined ? status : `${status} (${note})`;
	return `  ${service}  ${id}  ${phase}, ${state}, ${said}, ${count(holders, 'holder')}${why}`;
}

/** Missing where events are off. */
function formatEvents({ events }: StatusReply): string[] {
	if (events === undefined) return [];
	const { state, reason, bytes, bytesMax, producers, streams, groups } = events;
	const size = `${(bytes / MIB).toFixed(1)} of ${(bytesMax / MIB).toFixed(1)} MiB`;
	const [worst] = [...groups].sort((one, other) => (other.lag ?? 0) - (one.lag ?? 0));
	const lag =
		worst === undefined || worst.lag === null ? '' : `; most to do: ${worst.stream} ${worst.group}, lag ${worst.lag}`;
	return [
		`events       ${state}, ${size}, ${count(streams.length, 'stream')}, ${count(producers, 'producer')}${reason === null ? '' : `: ${reason}`}`,
		`             ${count(groups.length, 'group')}${lag}`,
	];
}

function count(number: number, what: string): string {
	return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function seconds(ms: number): string {
	return `${(ms / 1000).toFixed(1)} s`;
}
