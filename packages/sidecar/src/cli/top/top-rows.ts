import type { InstanceExplanation, ServiceQuery } from '@spock/protocol';
import { queryLabel } from '@spock/protocol/internal';

import type { ChangeView, ConnectionView, ServiceDetail, ServiceView, StatusView } from '../../admin/status-view.ts';
import { healthRank } from '../../foundation/service-problem.ts';
import { printable } from '../output/output.ts';
import { age, shortNumber, timeOfDay } from './top-format.ts';
import { TOP_ORDERS, type TopState } from './top-state.ts';

/** How good what a row says is. */
export type Tone = 'good' | 'warning' | 'bad' | 'dim' | 'plain';

/** One column of a table. */
export interface Column {
	readonly title: string;
	/** Columns of the terminal; 0: what is left over. */
	readonly width: number;
	readonly align?: 'right';
}

/** One row of a table. */
export interface Row {
	readonly cells: readonly string[];
	readonly tone: Tone;
	/** Key of the service that enter opens; none in other tables. */
	readonly key?: string;
}

/** What the lower part of the screen shows. */
export interface Table {
	readonly columns: readonly Column[];
	readonly rows: readonly Row[];
	/** Said where there is no row. */
	readonly empty: string;
}

type Compare<T> = (left: T, right: T) => number;

const SERVICE_COLUMNS: readonly Column[] = [
	{ title: 'SERVICE', width: 0 },
	{ title: 'STATE', width: 6 },
	{ title: 'HEALTHY', width: 9, align: 'right' },
	{ title: 'READERS', width: 7, align: 'right' },
	{ title: 'REVISION', width: 8, align: 'right' },
	{ title: 'CHANGED', width: 7, align: 'right' },
	{ title: 'STALE', width: 5, align: 'right' },
];
const CONNECTION_COLUMNS: readonly Column[] = [
	{ title: '#', width: 6, align: 'right' },
	{ title: 'CLIENT', width: 0 },
	{ title: 'PID', width: 7, align: 'right' },
	{ title: 'AGE', width: 4, align: 'right' },
	{ title: 'SUBS', width: 5, align: 'right' },
	{ title: 'REQ/S', width: 6, align: 'right' },
	{ title: 'IN B/S', width: 6, align: 'right' },
	{ title: 'OUT B/S', width: 7, align: 'right' },
	{ title: 'WAIT', width: 5, align: 'right' },
	{ title: 'UNREAD', width: 6, align: 'right' },
];
const CHANGE_COLUMNS: readonly Column[] = [
	{ title: 'TIME', width: 8 },
	{ title: 'SERVICE', width: 20 },
	{ title: 'WHAT', width: 0 },
];
const INSTANCE_COLUMNS: readonly Column[] = [
	{ title: 'INSTANCE', width: 0 },
	{ title: 'ADDRESS', width: 21 },
	{ title: 'STATUS', width: 11 },
	{ title: 'WEIGHT', width: 6, align: 'right' },
	{ title: 'WORK', width: 4 },
	{ title: 'CHANGED', width: 7, align: 'right' },
];

/** What the state asks for, filtered and in order. */
export function tableOf(view: StatusView, detail: ServiceDetail | undefined, state: TopState): Table {
	const now = view.overview.at;
	const isWanted = ({ cells }: Row): boolean => {
		const wanted = state.filter.toLowerCase();
		return cells.some((cell) => cell.toLowerCase().includes(wanted));
	};
	const whole = state.detail === undefined ? tabOf(view, state, now) : instancesOf(detail, now);
	if (state.filter === '' || whole.rows.length === 0) return whole;
	return { ...whole, rows: whole.rows.filter(isWanted), empty: `nothing matches "${state.filter}"; esc shows all` };
}

function tabOf(view: StatusView, state: TopState, now: number): Table {
	const order = TOP_ORDERS[state.tab][state.orders[state.tab]] as string;
	switch (state.tab) {
		case 'services': {
			const services = [...view.services].sort(SERVICE_ORDERS[order]);
			const rows = services.map((service) => serviceRow(service, now));
			return { columns: SERVICE_COLUMNS, rows, empty: 'no service is watched' };
		}
		case 'connections': {
			const connections = [...view.connections.rows].sort(CONNECTION_ORDERS[order]);
			const rows = connections.map((connection) => connectionRow(connection, now));
			return { columns: CONNECTION_COLUMNS, rows, empty: 'no connection' };
		}
		case 'changes': {
			const rows = view.changes.map(changeRow);
			const ordered = order === 'newest' ? rows.reverse() : rows;
			return { columns: CHANGE_COLUMNS, rows: ordered, empty: 'no change yet' };
		}
	}
}

const byName: Compare<ServiceView> = (left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0);
/** The problem is missing from a sidecar of an earlier version. */
const rank = ({ problem, state }: ServiceView): number => healthRank(problem ?? null, state);

const SERVICE_ORDERS: Readonly<Record<string, Compare<ServiceView>>> = {
	health: (left, right) => rank(left) - rank(right) || byName(left, right),
	name: byName,
	changed: (left, right) => (right.changedAt ?? 0) - (left.changedAt ?? 0) || byName(left, right),
	readers: (left, right) => right.readers - left.readers || byName(left, right),
};
const byId: Compare<ConnectionView> = (left, right) => left.id - right.id;
const CONNECTION_ORDERS: Readonly<Record<string, Compare<ConnectionView>>> = {
	requests: (left, right) => (right.rates?.requests ?? 0) - (left.rates?.requests ?? 0) || byId(left, right),
	number: byId,
	subscriptions: (left, right) => right.subscriptions - left.subscriptions || byId(left, right),
	unread: (left, right) => right.outputBytes - left.outputBytes || byId(left, right),
};

function serviceRow(view: ServiceView, now: number): Row {
	const { key, state, healthy, instances, readers, revision, error } = view;
	const name = error === null ? nameOf(view) : `${nameOf(view)} – ${error}`;
	const isLive = state === 'fresh';
	const tone = state === 'cold' ? 'dim' : healthy === 0 ? 'bad' : isLive && healthy === instances ? 'good' : 'warning';
	const cells = [
		printable(name),
		state,
		`${healthy}/${instances}`,
		String(readers),
		String(revision),
		age(view.changedAt, now),
		age(view.staleSince, now),
	];
	return { cells, tone, key };
}

/** A query, as people read it: its service, and what it asks for besides. */
export function nameOf(query: ServiceQuery): string {
	return [query.service, queryLabel(query)].filter((part) => part !== '').join(' ');
}

function connectionRow(view: ConnectionView, now: number): Row {
	const { id, client, pid, openedAt, subscriptions, inFlight, outputBytes, rates } = view;
	const rate = (value: number | undefined): string => (value === undefined ? '-' : shortNumber(value));
	const cells = [
		String(id),
		printable(client ?? '(sent no hello)'),
		pid === null ? '-' : String(pid),
		age(openedAt, now),
		String(subscriptions),
		rate(rates?.requests),
		rate(rates?.bytesRead),
		rate(rates?.bytesWritten),
		String(inFlight),
		shortNumber(outputBytes),
	];
	return { cells, tone: outputBytes > 1_048_576 ? 'warning' : 'plain' };
}

function changeRow(change: ChangeView): Row {
	const time = timeOfDay(change.at);
	const isStale = change.source === 'last-known-good';
	if (change.kind === 'source') {
		const { services, count, sourceBefore, source } = change;
		const names = `${services.join(', ')}${count > services.length ? ', …' : ''}`;
		const what = `${sourceBefore} → ${source}: ${names}`;
		return { cells: [time, `${count} services`, printable(what)], tone: isStale ? 'warning' : 'good' };
	}
	const { came, went, changed } = change.counts;
	const marks = { came: '+', went: '-', changed: '~' };
	const each = change.instances.map(({ what, address, fields }) => {
		const news = fields.map(({ name, from, to }) => `${name} ${from} → ${to}`).join(', ');
		return `${marks[what]}${address}${news === '' ? '' : ` ${news}`}`;
	});
	const what = `+${came} -${went} ~${changed}  ${each.join('  ')}`;
	const tone = isStale ? 'warning' : went > 0 && came === 0 ? 'bad' : 'plain';
	return { cells: [time, printable(change.service), printable(what)], tone };
}

function instancesOf(detail: ServiceDetail | undefined, now: number): Table {
	const rows = (detail?.instances ?? []).map((one) => instanceRow(one, now));
	const empty = detail === undefined ? 'asking …' : printable(detail.error ?? 'no instance is registered');
	return { columns: INSTANCE_COLUMNS, rows, empty };
}

function instanceRow(one: InstanceExplanation, now: number): Row {
	const { instance, host, port, status, weight, included, reason, changedAt } = one;
	const tone = !included ? 'bad' : status === 'passing' ? 'good' : 'warning';
	const name = included ? instance : `${instance} – ${reason}`;
	const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
	const cells = [name, address, status, String(weight), included ? 'yes' : 'no', age(changedAt, now)];
	return { cells: cells.map(printable), tone };
}
