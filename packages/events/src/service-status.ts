import { DEAD_RETRY_GROUP, type GroupStatus, type StoreFault, type StreamStatus } from '@spock/protocol';

import type { Forwarding } from './forward/index.ts';
import type { StoreFaults } from './foundation/store-faults.ts';
import { isDeadStream } from './groups/dead-letter.ts';
import type { LogSegment } from './segments/segment.ts';
import type { GroupPlace } from './stores/group-places.ts';
import type { Hold } from './stores/retention.ts';

/** Most streams, and most groups, in a status. */
const STATUS_ITEMS_MAX = 256;

/** What each stream holds, in the order of their names. */
export function streamStatus(segments: readonly LogSegment[], forwarding?: Forwarding): StreamStatus[] {
	const streams = new Map<string, StreamStatus>();
	for (const segment of segments) {
		for (const [stream, count] of segment.streams) {
			const { first = count.first, events = 0, bytes = 0 } = streams.get(stream) ?? {};
			streams.set(stream, {
				stream,
				store: forwarding?.storeOf(stream)?.name ?? 'embedded',
				first,
				last: count.last,
				events: events + count.events,
				bytes: bytes + count.bytes,
				lastAt: count.lastTime,
				unstored: forwarding?.unstored(stream) ?? 0,
			});
		}
	}
	return [...streams.values()].sort((one, other) => (one.stream < other.stream ? -1 : 1)).slice(0, STATUS_ITEMS_MAX);
}

/** Every group, with consumers and without; of a store elsewhere those with consumers here. */
export function groupStatus(
	segments: readonly LogSegment[],
	places: readonly GroupPlace[],
	open: readonly Omit<GroupStatus, 'lag'>[],
	forwarding?: Forwarding,
): GroupStatus[] {
	const byName = new Map(open.map((group) => [`${group.stream}/${group.group}`, group]));
	const isElsewhere = (stream: string): boolean => forwarding?.storeOf(stream) !== undefined;
	const elsewhere = open.filter(({ stream }) => isElsewhere(stream)).map((group) => ({ ...group, lag: null }));
	const here = places
		.filter(({ stream }) => !isElsewhere(stream))
		.map((place) => {
			const { stream, group, position } = place;
			const members = byName.get(`${stream}/${group}`);
			const closed = { order: 'none', consumers: 0, out: 0, backingOff: 0, oldestUnackedMs: null } as const;
			return { ...closed, ...members, stream, group, position, lag: lagOf(segments, place) };
		});
	return [...here, ...elsewhere].slice(0, STATUS_ITEMS_MAX);
}

/** What cannot be used now. */
export function faultStatus(faults: StoreFaults, forwarding?: Forwarding): StoreFault[] {
	return faults.list().map((fault) => ({ ...fault, store: forwarding?.storeOf(fault.stream)?.name ?? 'embedded' }));
}

/** For the reason why the log is full: what keeps its oldest segment, and what to do; empty if nothing does. */
export function holdReason(
	hold: Hold | undefined,
	segments: readonly LogSegment[],
	places: readonly GroupPlace[],
	isDiskFull: boolean,
): string {
	if (hold === 'group') return laggingGroup(segments, places);
	if (hold === 'store')
		return '; it keeps what the store of a stream has not taken, or may lose: see that it can be reached';
	if (hold === 'ids') {
		const next = isDiskFull ? 'make room on its disk' : 'raise `--events-bytes-max`';
		return `; its events with an id are kept for two minutes, to know repetitions: ${next}`;
	}
	if (hold === 'retention')
		return '; its events are kept for a time: lower `--events-retention-bytes`, or make room on its disk';
	return '';
}

/** The group that keeps its oldest segment; empty if none does. */
export function laggingGroup(segments: readonly LogSegment[], places: readonly GroupPlace[]): string {
	const [oldest] = segments;
	if (oldest === undefined || segments.length === 1) return '';
	const [last] = holding(places)
		.filter(({ stream, position }) => oldest.mayHold(stream, position))
		.sort((one, other) => one.position - other.position);
	if (last === undefined) return '';
	const { stream, group } = last;
	const [skip, forget] = [`rewind ${stream} ${group} --to new`, `delete-group ${stream} ${group}`];
	const remedy = `consume them, or skip them with \`sidecar events ${skip}\` or, for good, \`sidecar events ${forget}\``;
	return `; group ${group} of stream ${stream} has ${lagOf(segments, last)} events to do: ${remedy}`;
}

/** The groups for which events are kept. */
export function holding(
	places: readonly GroupPlace[],
	isElsewhere: (stream: string) => boolean = () => false,
): readonly GroupPlace[] {
	return places.filter(
		({ stream, group }) => !isElsewhere(stream) && (group !== DEAD_RETRY_GROUP || !isDeadStream(stream)),
	);
}

/** Events of a stream above a position, about. */
export function countAbove(segments: readonly LogSegment[], stream: string, position: number): number {
	return lagOf(segments, { stream, group: '', position: position + 1, done: new Set(), rewinds: 0 });
}

/** Events that are not done. In the segment in which the group is, those in front of it are estimated by their positions. */
function lagOf(segments: readonly LogSegment[], { stream, position, done }: GroupPlace): number {
	let lag = -done.size;
	for (const { streams } of segments) {
		const count = streams.get(stream);
		if (count === undefined || count.last < position) continue;
		const { first, last, events } = count;
		const part = position <= first ? 1 : (last - position + 1) / (last - first + 1);
		lag += Math.max(1, Math.round(events * part));
	}
	return Math.max(0, lag);
}
