import { ClientRow, problemText, severityOf } from './client-row.js';
import { SortedColumns } from './columns.js';
import { arrange, byId, MoreButton, scrollable, setText } from './dom.js';
import { clientName, hasAll, plural, whole } from './format.js';

/** Rows shown at once. */
const STEP = 50;
/** Libraries that are counted in words. */
const LIBRARIES_MAX = 5;

const COLUMNS = [
	{ name: 'Client', by: ({ client, id }) => `${client ?? '\uffff'}\n${String(id).padStart(12)}`, first: 'ascending' },
	{ name: 'State', by: severityOf, first: 'ascending' },
	{ name: 'Services', by: ({ services }) => services, first: 'descending', number: true, title: 'That it watches' },
	{ name: 'Keys', by: ({ keys }) => keys, first: 'descending', number: true, optional: true, title: 'That it watches' },
	{ name: 'Registered', by: ({ registeredCount }) => registeredCount, first: 'descending' },
	{
		...{ name: 'Calls/s', by: ({ rates }) => rates?.requests ?? 0, first: 'descending' },
		...{ number: true, title: 'Requests per second' },
	},
	{
		...{ name: 'Unread', by: ({ outputBytes }) => outputBytes, first: 'descending', number: true, optional: true },
		title: 'Output that it has not read',
	},
	{ name: 'Since', by: ({ openedAt }) => openedAt, first: 'ascending', number: true },
];

const rows = new Map();
let clients = { count: 0, problems: 0, grpc: 0, rows: [] };
let filter = [];
let problemsOnly = false;

const table = byId('clients-table');
const more = new MoreButton(byId('clients-more'), { step: STEP, noun: 'clients', changed: show });
const columns = new SortedColumns(table, COLUMNS, {
	column: COLUMNS[1],
	changed: () => {
		more.reset();
		show();
	},
});
scrollable(table.parentElement, 'Clients, scrollable');

/** Takes the clients that are connected. */
export function showClients(connections) {
	clients = connections;
	const ids = new Set(clients.rows.map(({ id }) => id));
	for (const id of rows.keys()) if (!ids.has(id)) rows.delete(id);
	show();
}

/** Shows the clients that have each of these words, in lower case, in what the page says of them. */
export function filterClients(words, isProblemsOnly) {
	filter = words;
	problemsOnly = isProblemsOnly;
	more.reset();
	show();
}

/** The ages grow by themselves. */
export function showClientAges(nowMs) {
	for (const row of rows.values()) row.showAges(nowMs);
}

function matches({ id, client, library, pid, transport, address, certificate, registered, problems }) {
	const process = [`no. ${id}`, `pid ${pid}`, transport, address ?? '', certificate ?? ''];
	const instances = registered.flatMap(({ id, service, status }) => [id, service, status]);
	return hasAll(
		[clientName(client), client ?? '', library ?? '', ...process, ...instances, ...problems.map(problemText)],
		filter,
	);
}

function show() {
	const found = clients.rows.filter((row) => matches(row) && (!problemsOnly || row.problems.length > 0));
	showCounts(found.length);
	// What is behind the other tab is drawn when it is chosen.
	if (byId('clients-panel').hidden) return;
	columns.sort(found);
	const shown = more.take(found);
	const ids = new Set(shown.map(({ id }) => id));
	// What was expanded stays so while it is filtered away.
	for (const [id, row] of rows) if (!ids.has(id) && !row.isOpen) rows.delete(id);
	arrange(table, [table.caption, table.tHead, ...shown.map(bodyOf)]);
}

function bodyOf(client) {
	let row = rows.get(client.id);
	if (row === undefined) {
		row = new ClientRow(COLUMNS.length);
		rows.set(client.id, row);
	}
	row.show(client);
	return row.body;
}

function showCounts(count) {
	const { count: all, problems, grpc } = clients;
	const isFiltered = filter.length > 0 || problemsOnly;
	const text = isFiltered ? `${whole(count)} of ${whole(all)}` : plural(all, 'client');
	setText(
		byId('clients-count'),
		problems === 0 ? text : `${text}, ${plural(problems, 'with problems', 'with problems')}`,
	);
	const mark = byId('clients-problems');
	mark.hidden = problems === 0;
	setText(mark.firstElementChild, whole(problems));
	const rest = [
		...(all > clients.rows.length
			? [`and ${whole(all - clients.rows.length)} more, without problems or less busy`]
			: []),
		...(grpc > 0 ? [`and ${whole(grpc)} by gRPC, which are not listed`] : []),
	];
	setText(byId('clients-rest'), rest.join('; '));
	byId('clients-rest').hidden = rest.length === 0;
	setText(byId('clients-libraries'), librariesText());
	byId('clients-libraries').hidden = clients.rows.length === 0;
	const empty = byId('clients-empty');
	empty.hidden = count > 0;
	setText(empty, all === 0 ? 'No client is connected.' : 'No client matches. Press Escape to clear the filter.');
}

/** Who still speaks with which version: what an upgrade waits for. */
function librariesText() {
	const counts = new Map();
	for (const { library, client } of clients.rows) {
		const name = library ?? (client?.startsWith('@spock/client/') ? client : null);
		const key = name === null ? 'unnamed' : clientName(name);
		counts.set(key, (counts.get(key) ?? 0) + 1);
	}
	const sorted = [...counts].sort(([, left], [, right]) => right - left);
	const rest = sorted.length - LIBRARIES_MAX;
	const named = sorted.slice(0, LIBRARIES_MAX).map(([name, count]) => `${name} × ${whole(count)}`);
	return `Libraries: ${[...named, ...(rest > 0 ? [`and ${rest} more`] : [])].join(', ')}`;
}
