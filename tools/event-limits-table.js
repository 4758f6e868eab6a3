// Writes the limits of events, from the code, into docs/reference/events.md. With --check it changes nothing, and fails where the page differs.
import { updateDocs } from './docs-section.js';
import { loadSource } from './load-source.js';

const code = await loadSource(`
export * from './packages/protocol/src/foundation/limits.ts';
export * from './packages/client/src/events/produce/producer-options.ts';
export { PRODUCERS_MAX, PRODUCER_SEEN_MS, GAPS_SEEN_MS } from './packages/events/src/producers/producer-table.ts';
export { PRODUCER_STREAMS_MAX } from './packages/events/src/producers/producer.ts';
export { ID_WINDOW_IDS_MAX, ID_WINDOW_MS } from './packages/events/src/producers/id-window.ts';
export { CONSUMED_NAME_LENGTH_MAX, FORWARDED_NAME_LENGTH_MAX } from './packages/events/src/foundation/moved-event.ts';
export { DEFAULT_GROUPS_MAX } from './packages/events/src/stores/embedded-store.ts';
export { PARTITIONS } from './packages/events/src/stores/jetstream/event-message.ts';
export { DEFAULT_LEASE_MS } from './packages/events/src/stores/jetstream/jetstream-options.ts';
export { CONSUMERS_PER_CONNECTION_MAX, PRODUCERS_PER_CONNECTION_MAX } from './packages/sidecar/src/events/connection-events.ts';
export { CONSUMERS_MAX } from './packages/sidecar/src/events/event-guest.ts';
`);

const count = (value) => value.toLocaleString('en-US');
const bytes = (value) => (value >= 2 ** 20 ? `${value / 2 ** 20} MiB` : `${value / 2 ** 10} KiB`);
const UNITS = [
	['days', 86_400_000],
	['hours', 3_600_000],
	['min', 60_000],
	['s', 1000],
];
const time = (ms) => {
	const [unit, size] = UNITS.find(([, size]) => ms >= size);
	return `${ms / size} ${ms === size ? unit.replace(/s$/, '') : unit}`;
};

const ROWS = [
	['an event, with key, id and headers', bytes(code.EVENT_BYTES_MAX)],
	['name of a stream', `${count(code.STREAM_NAME_LENGTH_MAX)} characters of \`A-Z a-z 0-9 _ . -\``],
	['name of a stream that is consumed, besides `.dead`', `${count(code.CONSUMED_NAME_LENGTH_MAX)} characters`],
	[
		'name of a stream that goes to a store elsewhere, besides `.dead`',
		`${count(code.FORWARDED_NAME_LENGTH_MAX)} characters`,
	],
	['key of an event', `${count(code.EVENT_KEY_LENGTH_MAX)} characters`],
	['id of an event', `${count(code.EVENT_ID_LENGTH_MAX)} characters`],
	['headers of an event', count(code.EVENT_HEADERS_MAX)],
	[
		'how long an `id` is known in its stream',
		`${time(code.ID_WINDOW_MS)}, for the last ${count(code.ID_WINDOW_IDS_MAX)} ids`,
	],
	[
		'unsent events in an app',
		`${bytes(code.DEFAULT_BUFFER_BYTES_MAX)}, ${count(code.DEFAULT_BUFFER_EVENTS_MAX)} events (defaults)`,
	],
	['unsent bytes from which on `emit` returns false', `${bytes(code.DEFAULT_HIGH_WATER_BYTES)} (default)`],
	['producers that a sidecar knows', count(code.PRODUCERS_MAX)],
	['after which a producer that is away may be forgotten for others', time(code.PRODUCER_SEEN_MS)],
	['the same for the relay of a stream', time(code.GAPS_SEEN_MS)],
	['streams of one producer', count(code.PRODUCER_STREAMS_MAX)],
	['producers on one connection', count(code.PRODUCERS_PER_CONNECTION_MAX)],
	[
		'consumers on one connection, and in all',
		`${count(code.CONSUMERS_PER_CONNECTION_MAX)}, ${count(code.CONSUMERS_MAX)}`,
	],
	['groups of the embedded store', count(code.DEFAULT_GROUPS_MAX)],
	['events of one consumer that are delivered and not acked', count(code.CONSUMER_IN_FLIGHT_MAX)],
	['keys of a filter', count(code.FILTER_KEYS_MAX)],
	['partitions of a stream at JetStream', count(code.PARTITIONS)],
	['after which the part of a sidecar that has died goes to the others', time(code.DEFAULT_LEASE_MS)],
];
const table = ['| limit | |', '|---|---|', ...ROWS.map((row) => `| ${row.join(' | ')} |`)].join('\n');
updateDocs('event-limits', table, 'docs/reference/events.md', 'npm run tables events');
