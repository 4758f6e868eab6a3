import { arrange, byId, element, MoreButton, scrollable, setAttribute, setText } from './dom.js';
import { age, bytes, plural, whole } from './format.js';

const STEP = 10;

/** Rows by the names of what they show. */
const streamRows = new Map();
const groupRows = new Map();
let events = { streams: [], groups: [] };

const moreOf = (noun) => new MoreButton(byId(`${noun}-more`), { step: STEP, noun, changed: () => showEvents(events) });
const moreStreams = moreOf('streams');
const moreGroups = moreOf('groups');

scrollable(byId('streams-table').parentElement, 'Streams, scrollable');
scrollable(byId('groups-table').parentElement, 'Groups, scrollable');

/** Shows the log of events, its streams and its groups. */
export function showEvents(report) {
	events = report;
	const { state, reason, bytes: size, bytesMax, producers, unstored, damaged, streams, groups } = events;
	const tag = byId('events-state');
	setText(tag, state);
	setAttribute(tag, 'class', `tag ${state === 'receiving' ? 'good' : state === 'opening' ? 'warn' : 'bad'}`);
	const bad = damaged === 0 ? '' : `, ${plural(damaged, 'damaged record')}`;
	const waiting = unstored === 0 ? '' : `, ${whole(unstored)} not on disk`;
	setText(byId('events-log'), `${bytes(size)} of ${bytes(bytesMax)}, ${plural(producers, 'producer')}${waiting}${bad}`);
	setText(byId('events-reason'), reason ?? '');
	byId('events-reason').hidden = reason === null;
	byId('streams-empty').hidden = streams.length > 0;
	byId('groups').hidden = groups.length === 0;
	showRows('streams-table', streamRows, moreStreams.take(streams), (stream) => stream.stream, {
		make: () => makeRow(['events', 'size', 'last']),
		fill: fillStream,
	});
	// The ones that are furthest behind first.
	const sorted = [...groups].sort((left, right) => right.lag - left.lag);
	showRows('groups-table', groupRows, moreGroups.take(sorted), ({ stream, group }) => `${stream}\n${group}`, {
		make: () => makeRow(['lag', 'out', 'retry', 'consumers', 'oldest']),
		fill: fillGroup,
	});
}

/** The ages grow by themselves. */
export function showEventAges(nowMs) {
	for (const { cells, lastAt } of streamRows.values()) setText(cells.last, lastAt === null ? '–' : age(nowMs - lastAt));
}

function showRows(table, rows, shown, nameOf, { make, fill }) {
	const names = new Set(shown.map(nameOf));
	for (const name of rows.keys()) if (!names.has(name)) rows.delete(name);
	const nodes = shown.map((one) => {
		const name = nameOf(one);
		if (!rows.has(name)) rows.set(name, make());
		const row = rows.get(name);
		fill(row, one);
		return row.node;
	});
	arrange(byId(table).tBodies[0], nodes);
}

function fillStream(row, { stream, events: count, bytes: size, lastAt }) {
	const { head, cells } = row;
	row.lastAt = lastAt;
	setText(head, stream);
	setText(cells.events, whole(count));
	setText(cells.size, bytes(size));
	setText(cells.last, lastAt === null ? '–' : age(Date.now() - lastAt));
}

function fillGroup({ head, cells }, { stream, group, lag, out, backingOff, consumers, oldestUnackedMs }) {
	setText(head, `${group} of ${stream}`);
	setText(cells.lag, lag === null ? '–' : whole(lag));
	setText(cells.out, whole(out));
	setText(cells.retry, whole(backingOff));
	setText(cells.consumers, whole(consumers));
	cells.consumers.classList.toggle('bad', consumers === 0 && lag > 0);
	setText(cells.oldest, oldestUnackedMs === null ? '–' : age(oldestUnackedMs));
}

function makeRow(names) {
	const head = element('th', { scope: 'row' });
	const cells = Object.fromEntries(
		names.map((name) => [name, element('td', { class: name === 'oldest' ? 'number optional' : 'number' })]),
	);
	return { node: element('tr', {}, head, ...Object.values(cells)), head, cells, lastAt: null };
}
