import type {
	BackendStatus,
	KeyWatchStatus,
	RegistrationStatus,
	StatusReply,
	UpstreamStatus,
	WatchStatus,
} from '@spock/protocol';
import { queryLabel } from '@spock/protocol/internal';

import type { ClientFlags } from '../client/sidecar-target.ts';
import { withClient } from '../client/with-client.ts';
import { formatCount, formatDuration } from '../output/figures.ts';
import { print } from '../output/output.ts';
import { type Cell, type Look, lookOf, Page, printPage, type Style, styled } from '../output/page.ts';

const MIB = 1_048_576;
/** Width of the names of lines. */
const NAME_WIDTH = 'connections'.length;

/** `sidecar status` */
export async function status(flags: ClientFlags): Promise<void> {
	await withClient(flags, async (client, options) => {
		const reply = await client.request('status', null, options);
		if (flags.json) print(JSON.stringify(reply));
		else printPage(formatStatus(reply, lookOf(process.stdout)));
	});
}

/** A page for people. */
export function formatStatus(reply: StatusReply, look: Look): Page {
	const { sidecar, pid, uptimeMs, phase, ready, counts } = reply;
	const page = new Page(look);
	const facts = (rows: readonly (readonly Cell[])[]) => page.table(rows, { widths: [NAME_WIDTH] });
	page.line(
		`${sidecar}, pid ${pid}, up ${formatDuration(uptimeMs)}, ${phase}, `,
		ready ? styled('good', 'ready') : styled('bad', 'not ready'),
	);
	facts([
		...reply.reasons.map((reason) => ['', styled(ready ? 'warning' : 'bad', reason)]),
		...(reply.backend.members ?? [reply.backend]).flatMap(backendRows),
		...connectionRows(reply),
		['watches', `${counts?.watches ?? reply.watches.length}, ${formatCount(reply.subscriptions, 'subscription')}`],
		...oversizeRows(reply),
	]);
	// Key watches are missing from a sidecar of an earlier version.
	const watches = [...reply.watches.map(watchRow), ...(reply.keyWatches ?? []).map(keyWatchRow)];
	page.table(watches, { titles: ['NAME', 'STATE', 'FOUND', 'READERS', 'REVISION', 'ERROR'], indent: 2 });
	const all = counts && counts.watches + counts.keyWatches;
	if (all !== undefined && all > watches.length) page.line(`  and ${all - watches.length} more`);
	facts([['registered', String(counts?.registrations ?? reply.registrations.length)]]);
	const registered = reply.registrations.map(registrationRow);
	page.table(registered, { titles: ['SERVICE', 'ID', 'REGISTRY', 'STATUS', 'APP', 'TOKEN OF', 'ERROR'], indent: 2 });
	const unlisted = (counts?.registrations ?? 0) - registered.length;
	if (unlisted > 0) page.line(`  and ${unlisted} more`);
	facts(eventRows(reply));
	return page;
}

function backendRows({ name, state, lastSuccessAgeMs, addresses, error, upstream }: BackendStatus): Cell[][] {
	const style: Style = state === 'up' ? 'good' : state === 'down' ? 'bad' : 'warning';
	const heard = lastSuccessAgeMs === null ? 'never heard' : `heard ${formatDuration(lastSuccessAgeMs)} ago`;
	const where = addresses.join(', ') || 'no address';
	const row: Cell[] = ['backend', [`${name} `, styled(style, state), `, ${heard}: ${where}`]];
	return [row, ...(error === null ? [] : [['', styled(style, error)]]), ...(upstream ? upstreamRows(upstream) : [])];
}

function upstreamRows({ address, places, subscriptions, failovers, lagMs }: UpstreamStatus): Cell[][] {
	const lag = lagMs === null ? '' : `, changes up to ${formatDuration(lagMs)} late`;
	const counts = `${formatCount(failovers, 'failover')}${lag}`;
	const asked = address === null ? styled('bad', 'none answers') : `asks ${address}`;
	const others = places.filter((place) => place.address !== address);
	return [
		['upstream', [asked, `; ${formatCount(subscriptions, 'subscription')}, ${counts}`]],
		...others.map((place) => [
			'',
			place.error === null ? `${place.address}: in reserve` : styled('warning', `${place.address}: ${place.error}`),
		]),
	];
}

function connectionRows({ clients = [], connections, counters }: StatusReply): Cell[][] {
	const counts = Object.entries(counters).map(([name, count]) => `${name} ${count}`);
	const row = ['connections', `${connections} open; ${counts.join(', ')}`];
	// Missing from a sidecar of an earlier version.
	if (clients.length === 0) return [row];
	const names = clients.map(({ client, pid }) => `${client ?? '(sent no hello)'}${pid === null ? '' : ` pid ${pid}`}`);
	const more = connections > clients.length ? [`${connections - clients.length} more`] : [];
	return [row, ['', [...names, ...more].join(', ')]];
}

function oversizeRows({ oversizeSubscriptions: count }: StatusReply): Cell[][] {
	// Missing from a sidecar of an earlier version.
	if (!(count > 0)) return [];
	return [['', styled('warning', `${count} too long for their client: raise frameBytesMax at both ends`)]];
}

function watchRow(watch: WatchStatus): Cell[] {
	const { healthyInstances: healthy, instances } = watch;
	const style: Style = healthy === 0 ? 'bad' : healthy < instances ? 'warning' : 'good';
	const found = styled(style, `${healthy}/${instances} healthy`);
	return row(`${watch.service} ${queryLabel(watch)}`.trimEnd(), found, watch);
}

function keyWatchRow(watch: KeyWatchStatus): Cell[] {
	const found =
		watch.prefix === true ? formatCount(watch.entries, 'key') : watch.entries === 0 ? 'no such key' : 'there';
	const place = watch.datacenter === undefined ? '' : ` @${watch.datacenter}`;
	return row(`key ${watch.key}${watch.prefix === true ? '…' : ''}${place}`, found, watch);
}

function row(
	name: string,
	found: Cell,
	{ state, ageMs, readers, revision, error }: WatchStatus | KeyWatchStatus,
): Cell[] {
	const age = state === 'stale' || state === 'held' ? `, ${formatDuration(ageMs)} old` : '';
	const shown = styled(state === 'fresh' ? 'good' : 'warning', `${state}${age}`);
	return [name, shown, found, String(readers), String(revision), styled('bad', error ?? '')];
}

/** The word `held` would mean a second thing here, where it is a state of watches too. */
const PHASES: Readonly<Record<RegistrationStatus['phase'], string>> = {
	held: 'connected',
	grace: 'gone, in its grace time',
	adopted: 'not back yet',
	leaving: 'leaving',
};

function registrationRow(registration: RegistrationStatus): Cell[] {
	const { service, id, phase, state, status, note, holders, error, app: tokenOf = '' } = registration;
	const good = status === 'passing';
	const said = note === undefined ? status : `${status} (${note})`;
	const app = holders > 1 ? `${PHASES[phase]} (${formatCount(holders, 'connection')})` : PHASES[phase];
	return [
		...[service, id, styled(state === 'registered' ? 'good' : 'warning', state)],
		...[styled(good ? 'good' : 'warning', said), styled(phase === 'held' ? 'good' : 'warning', app)],
		...[tokenOf, styled('bad', error ?? '')],
	];
}

/** Missing where events are off. */
function eventRows({ events }: StatusReply): Cell[][] {
	if (events === undefined) return [];
	const { state, reason, bytes, bytesMax, producers, streams, groups } = events;
	const size = `${(bytes / MIB).toFixed(1)} of ${(bytesMax / MIB).toFixed(1)} MiB`;
	const [worst] = [...groups].sort((one, other) => (other.lag ?? 0) - (one.lag ?? 0));
	const lag =
		worst === undefined || worst.lag === null ? '' : `; most to do: ${worst.stream} ${worst.group}, lag ${worst.lag}`;
	const counts = `${size}, ${formatCount(streams.length, 'stream')}, ${formatCount(producers, 'producer')}`;
	const why = reason === null ? '' : `: ${reason}`;
	return [
		['events', [styled(reason === null ? 'good' : 'bad', state), `, ${counts}${why}`]],
		['', `${formatCount(groups.length, 'group')}${lag}`],
	];
}
