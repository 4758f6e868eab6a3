import type {
	AddressStatus,
	BackendStatus,
	KeyWatchStatus,
	RegistrationStatus,
	StatusReply,
	UpstreamStatus,
	WatchStatus,
} from '@spock/protocol';
import { queryLabel } from '@spock/protocol/internal';

import { type CommonFailure, commonFailureOf, outageSentence, ownError } from '../../foundation/common-failure.ts';
import { healthRank, serviceProblem } from '../../foundation/service-problem.ts';
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
		else printPage(formatStatus(reply, lookOf(process.stdout), Date.now()));
	});
}

/** A page for people; `at`: when the reply was taken, in milliseconds since 1970. */
export function formatStatus(reply: StatusReply, look: Look, at: number): Page {
	const { sidecar, pid, uptimeMs, phase, ready, counts } = reply;
	const failure = commonFailureOf(reply, at);
	const page = new Page(look);
	const facts = (rows: readonly (readonly Cell[])[]) => page.table(rows, { widths: [NAME_WIDTH] });
	page.line(
		`${sidecar}, pid ${pid}, up ${formatDuration(uptimeMs)}, ${phase}, `,
		ready ? styled('good', 'ready') : styled('bad', 'not ready'),
	);
	facts([
		...ownReasons(reply, failure).map((reason) => ['', styled(ready ? 'warning' : 'bad', reason)]),
		...(reply.backend.members ?? [reply.backend]).flatMap(backendRows),
		...failureRows(reply, failure),
		...connectionRows(reply),
		['watches', `${counts?.watches ?? reply.watches.length}, ${formatCount(reply.subscriptions, 'subscription')}`],
		...oversizeRows(reply),
	]);
	// Key watches are missing from a sidecar of an earlier version.
	const watches = [
		...byHealth(reply, failure).map((watch) => watchRow(watch, failure)),
		...(reply.keyWatches ?? []).map((watch) => keyWatchRow(watch, failure)),
	];
	page.table(watches, { titles: ['NAME', 'STATE', 'FOUND', 'READERS', 'REVISION', 'ERROR'], indent: 2 });
	const all = counts && counts.watches + counts.keyWatches;
	if (all !== undefined && all > watches.length) page.line(`  and ${all - watches.length} more`);
	facts([['registered', String(counts?.registrations ?? reply.registrations.length)]]);
	const registered = reply.registrations.map((one) => registrationRow(one, failure));
	page.table(registered, {
		titles: ['SERVICE', 'ID', 'INSTANCE', 'REGISTRY', 'STATUS', 'APP', 'TOKEN OF', 'ERROR'],
		indent: 2,
	});
	const unlisted = (counts?.registrations ?? 0) - registered.length;
	if (unlisted > 0) page.line(`  and ${unlisted} more`);
	facts(eventRows(reply));
	return page;
}

function backendRows(backend: BackendStatus): Cell[][] {
	const { name, state, lastSuccessAgeMs, addresses, error, upstream } = backend;
	const style: Style = state === 'up' ? 'good' : state === 'down' ? 'bad' : 'warning';
	const answered = lastSuccessAgeMs === null ? 'no answer yet' : `last answer ${formatDuration(lastSuccessAgeMs)} ago`;
	const where = addresses.join(', ') || 'no address';
	const row: Cell[] = ['backend', [`${name} `, styled(style, state), `, ${answered}: ${where}`]];
	const errors = error === null ? [] : [['', styled(style, error)]];
	return [row, ...errors, ...addressRows(backend), ...(upstream ? upstreamRows(upstream) : [])];
}

const ADDRESS_STYLES: Readonly<Record<AddressStatus['state'], Style>> = {
	...{ up: 'good', untried: 'dim', 'no-leader': 'bad', down: 'bad' },
};

/** Each of several addresses: one alone is in the row of its backend. */
function addressRows({ addressStatus = [] }: BackendStatus): Cell[][] {
	if (addressStatus.length < 2) return [];
	return addressStatus.map(({ address, state, isAsked, lastSuccessAgeMs: ageMs, error, failingForMs }) => {
		const answered = ageMs === null ? 'no answer yet' : `last answer ${formatDuration(ageMs)} ago`;
		const failing = failingForMs === null ? '' : ` for ${formatDuration(failingForMs)}`;
		const shown = state === 'untried' ? 'not asked yet' : `${state.replace('-', ' ')}${failing}, ${answered}`;
		const why = error === null ? '' : `: ${error}`;
		return ['', [`${address}: `, styled(ADDRESS_STYLES[state], shown), `${isAsked ? ', asked now' : ''}${why}`]];
	});
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

/** Without those that an error below has in it. */
function ownReasons({ reasons }: StatusReply, failure: CommonFailure | null): readonly string[] {
	return reasons.filter((reason) => !failure?.errors.some((error) => reason.includes(error)));
}

/** What apps get in an outage, and what fails for several watches at once, beside the errors of the backends above. */
function failureRows({ backend }: StatusReply, failure: CommonFailure | null): Cell[][] {
	const shown = new Set((backend.members ?? [backend]).map(({ error }) => error));
	const errors = (failure?.errors ?? []).filter((error) => !shown.has(error));
	const sentence = outageSentence(failure, (at) => new Date(at).toTimeString().slice(0, 8));
	const bad = errors.map((error) => ['', styled('bad', `of several: ${error}`)]);
	return [...(sentence === '' ? [] : [['', styled('warning', sentence)]]), ...bad];
}

/** The worst first; those that are equally well stay in their order. */
function byHealth({ watches }: StatusReply, failure: CommonFailure | null): readonly WatchStatus[] {
	const isOutage = failure !== null && failure.registries.length > 0;
	const rank = ({ state, instances, healthyInstances: healthy, error }: WatchStatus): number => {
		const facts = { state, instances, healthy, hasWarning: false, isOutage, error };
		return healthRank(serviceProblem(facts), state);
	};
	return [...watches].sort((left, right) => rank(left) - rank(right));
}

function watchRow(watch: WatchStatus, failure: CommonFailure | null): Cell[] {
	const { healthyInstances: healthy, instances } = watch;
	const style: Style = healthy === 0 ? 'bad' : healthy < instances ? 'warning' : 'good';
	const found = styled(style, `${healthy}/${instances} healthy`);
	return row(`${watch.service} ${queryLabel(watch)}`.trimEnd(), found, {
		...watch,
		error: ownError(watch.error, failure),
	});
}

function keyWatchRow(watch: KeyWatchStatus, failure: CommonFailure | null): Cell[] {
	const found =
		watch.prefix === true ? formatCount(watch.entries, 'key') : watch.entries === 0 ? 'no such key' : 'there';
	const place = watch.datacenter === undefined ? '' : ` @${watch.datacenter}`;
	const name = `key ${watch.key}${watch.prefix === true ? '…' : ''}${place}`;
	return row(name, found, { ...watch, error: ownError(watch.error, failure) });
}

function row(
	name: string,
	found: Cell,
	{ state, ageMs, readers, revision, error }: WatchStatus | KeyWatchStatus,
): Cell[] {
	const age = state === 'stale' || state === 'held' ? `, confirmed ${formatDuration(ageMs)} ago` : '';
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

function registrationRow(registration: RegistrationStatus, failure: CommonFailure | null): Cell[] {
	const { service, id, instance, phase, state, status, note, holders, app: tokenOf = '' } = registration;
	const good = status === 'passing';
	const said = note === undefined ? status : `${status} (${note})`;
	const app = holders > 1 ? `${PHASES[phase]} (${formatCount(holders, 'connection')})` : PHASES[phase];
	return [
		...[service, id, instance ?? '', styled(state === 'registered' ? 'good' : 'warning', state)],
		...[styled(good ? 'good' : 'warning', said), styled(phase === 'held' ? 'good' : 'warning', app)],
		...[tokenOf, styled('bad', ownError(registration.error, failure) ?? '')],
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
