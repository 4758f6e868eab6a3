import { arrange, byId, element, MoreButton, scrollable, setText } from './dom.js';
import { age, bytes, clientName, plural, whole } from './format.js';

const STEP = 10;

const rows = new Map();
let connections = { count: 0, rows: [] };

const more = new MoreButton(byId('connections-more'), {
	step: STEP,
	noun: 'connections',
	changed: () => showConnections(connections),
});

scrollable(byId('connections-table').parentElement, 'Connections, scrollable');

/** Shows who is connected. The order stays the same while rates change. */
export function showConnections(told) {
	connections = told;
	const { count } = connections;
	const sorted = [...connections.rows].sort((left, right) => left.id - right.id);
	const busiest = count > sorted.length ? `, the busiest ${sorted.length} below` : '';
	setText(byId('connections-count'), `${plural(count, 'client')}${busiest}`);
	byId('connections-empty').hidden = count > 0;
	const shown = more.take(sorted);
	const ids = new Set(shown.map(({ id }) => id));
	for (const id of rows.keys()) if (!ids.has(id)) rows.delete(id);
	arrange(byId('connections-table').tBodies[0], shown.map(showRow));
}

/** The ages grow by themselves. */
export function showConnectionAges(nowMs) {
	for (const { cells, openedAt } of rows.values()) setText(cells.age, age(nowMs - openedAt));
}

function showRow(connection) {
	const { id, client, pid, subscriptions, rates, openedAt, outputBytes } = connection;
	let row = rows.get(id);
	if (row === undefined) {
		row = makeRow(id);
		rows.set(id, row);
	}
	row.openedAt = openedAt;
	const { cells } = row;
	const name = clientName(client);
	setText(cells.client, pid === null ? name : `${name}, pid ${pid}`);
	cells.client.title = client ?? '';
	cells.client.classList.toggle('quiet', client === null);
	setText(cells.requests, rates === null ? '–' : whole(rates.requests));
	setText(cells.read, rates === null ? '–' : bytes(rates.bytesRead));
	setText(cells.written, rates === null ? '–' : bytes(rates.bytesWritten));
	cells.written.title = outputBytes > 0 ? `${bytes(outputBytes)} are not read yet` : '';
	setText(cells.subscriptions, whole(subscriptions));
	setText(cells.age, age(Date.now() - openedAt));
	return row.node;
}

function makeRow(id) {
	const number = () => element('td', { class: 'number' });
	const cells = {
		client: element('td', { class: 'client' }),
		requests: number(),
		read: number(),
		written: number(),
		subscriptions: number(),
		age: element('td', { class: 'number optional' }),
	};
	const head = element('th', { scope: 'row', class: 'number quiet' }, String(id));
	return { node: element('tr', {}, head, ...Object.values(cells)), cells, openedAt: 0 };
}
