import type { LatencyView, OverviewView, ServiceDetail, StatusView } from '../../admin/status-view.ts';
import { outageSentence } from '../../foundation/common-failure.ts';
import { formatDuration } from '../output/figures.ts';
import { printable } from '../output/output.ts';
import { bars, fit, quantile, shortNumber, timeOfDay } from './top-format.ts';
import { type Column, nameOf, type Row, type Table, tableOf } from './top-rows.ts';
import { type Shown, TOP_ORDERS, TOP_TABS, type TopState } from './top-state.ts';

/** What a screen is made from. */
export interface ScreenInput {
	/** Undefined before the first answer. */
	readonly view: StatusView | undefined;
	/** The service that is open, once it was answered. */
	readonly detail: ServiceDetail | undefined;
	readonly state: TopState;
	readonly width: number;
	readonly height: number;
	readonly isColoured: boolean;
	/** What is wrong now, such as a sidecar that is away; what is shown is then from before. */
	readonly trouble: string | undefined;
}

/** A screen, and what keys on it are about. */
export interface Screen {
	/** As many as the screen is high, none longer than it is wide. */
	readonly lines: readonly string[];
	readonly shown: Shown;
}

const KEYS = 'q quit  ↑↓ jk move  tab next  enter open  esc back  / filter  s sort  ? help';
const HELP = [
	['↑ ↓  j k', 'moves by a row; page up, page down, space: by a page; g, G: to the ends'],
	['tab', 'next of services, connections and changes; shift-tab the one before'],
	['enter', 'opens a service: its instances, and who watches it; esc goes back'],
	['/', 'filters by text in any column; enter keeps the filter, esc ends it'],
	['s', 'next order of the rows'],
	['ctrl-z', 'stops it; fg brings it back'],
	['q  ctrl-c', 'quits'],
	['', ''],
	['green', 'live, and every instance is healthy'],
	['yellow', 'not live, or some instances are not healthy'],
	['red', 'no instance is healthy'],
] as const;
/** SGR: https://man7.org/linux/man-pages/man4/console_codes.4.html */
const STYLES = { bold: '1', dim: '2', inverse: '7', good: '32', warning: '33', bad: '31', plain: '' } as const;
type Style = keyof typeof STYLES;
const COLOURS: ReadonlySet<Style> = new Set(['good', 'warning', 'bad']);

/** Draws the whole screen. Pure. */
export function drawTop(input: ScreenInput): Screen {
	const { view, detail, state, width, height, isColoured, trouble } = input;
	const paint = painter(isColoured);
	const head = view === undefined ? ['', '', '', ''] : overviewLines(view, width, paint);
	const table: Table = view === undefined ? { columns: [], rows: [], empty: 'asking …' } : tableOf(view, detail, state);
	// Tabs and titles above the rows, keys below.
	const page = Math.max(0, height - head.length - 3);
	const selected = Math.max(0, Math.min(state.selected, table.rows.length - 1));
	const first = Math.max(0, Math.min(selected - Math.floor(page / 2), table.rows.length - page));
	const widths = columnWidths(table.columns, width);
	const rows = table.rows.slice(first, first + page).map((row, index) => {
		return rowLine(row, { columns: table.columns, widths, width, isSelected: first + index === selected, paint });
	});
	const help = HELP.slice(0, page).map(([key, about]) => fit(`  ${key.padEnd(9)}  ${about}`, width));
	const body = state.isHelp ? help : table.rows.length === 0 ? [fit(`  ${table.empty}`, width)].slice(0, page) : rows;
	const titles = table.columns.map(({ title, align }, index) => fit(title, widths[index] as number, align));
	const lines = [
		...head,
		tabLine(input, paint),
		paint('bold', fit(state.isHelp ? 'Any key goes back' : titles.join(' '), width)),
		...body,
		...Array.from({ length: Math.max(0, page - body.length) }, () => ''),
		trouble === undefined ? paint('dim', fit(KEYS, width)) : paint('bad', fit(printable(trouble), width)),
	];
	const key = table.rows[selected]?.key;
	return { lines: lines.slice(0, height), shown: { rows: table.rows.length, page, key } };
}

/** The same once, for a file or a pipe: every row, as wide as it needs to be. */
export function printTop(view: StatusView, state: TopState): string {
	const parts = TOP_TABS.map((tab) => {
		const table = tableOf(view, undefined, { ...state, tab });
		const widths = table.columns.map(({ title }, index) =>
			Math.max(title.length, ...table.rows.map(({ cells }) => [...(cells[index] as string)].length)),
		);
		const line = (cells: readonly string[]): string =>
			cells
				.map((cell, index) => fit(cell, widths[index] as number, table.columns[index]?.align))
				.join('  ')
				.trimEnd();
		const rows = table.rows.length === 0 ? [table.empty] : table.rows.map(({ cells }) => line(cells));
		return [tab, line(table.columns.map(({ title }) => title)), ...rows].join('\n');
	});
	const head = [...overviewTexts(view), ...eventsTexts(view)].filter((text) => text !== '');
	return [head.join('\n'), ...parts].join('\n\n');
}

type Paint = (style: Style, text: string) => string;

function painter(isColoured: boolean): Paint {
	return (style, text) => {
		if (text === '' || STYLES[style] === '' || (!isColoured && COLOURS.has(style))) return text;
		return `\u001b[${STYLES[style]}m${text}\u001b[0m`;
	};
}

const cut = (text: string, width: number, style: Style, paint: Paint): string =>
	paint(style, [...text].length > width ? fit(text, width) : text);

function overviewLines(view: StatusView, width: number, paint: Paint): string[] {
	const { overview, events } = view;
	const { ready, reasons, backend } = overview;
	const [first = '', ...others] = overviewTexts(view);
	const tone = !ready
		? 'bad'
		: reasons.length > 0 || pendingText(view) !== '' || backend.state !== 'up'
			? 'warning'
			: 'good';
	const styles: readonly Style[] = ['plain', 'plain', tone];
	return [
		cut(first, width, tone === 'good' ? 'bold' : tone, paint),
		...others.map((text, index) => cut(text, width, styles[index] as Style, paint)),
		...eventsTexts(view).map((text) => cut(text, width, events?.state === 'receiving' ? 'plain' : 'bad', paint)),
	];
}

/** Four lines: who it is; what it does; how quick it is; what is wrong. */
function overviewTexts(view: StatusView): string[] {
	const { overview } = view;
	const { sidecar, pid, phase, ready, backend, rates, at, startedAt, latency } = overview;
	const { name, state, lastSuccessAgeMs: age } = backend;
	const answered = state === 'up' ? '' : age === null ? ', no answer yet' : `, last answer ${formatDuration(age)} ago`;
	const who = `${sidecar}  pid ${pid}  up ${formatDuration(at - startedAt)}  ${phase}, ${ready ? 'ready' : 'not ready'}`;
	const perSecond =
		rates === null
			? 'req/s -'
			: `req/s ${shortNumber(rates.requests)}  in B/s ${shortNumber(rates.bytesRead)}  out B/s ${shortNumber(rates.bytesWritten)}`;
	const { connections, subscriptions, inFlight, keys, registrations } = overview;
	const counts = `waiting ${inFlight}  conns ${connections}  subs ${subscriptions}  keys ${keys}  regs ${registrations}`;
	return [
		`${who}  ${name} ${state}${answered}`,
		`${perSecond}  ${counts}`,
		latencyText(latency),
		[troubleText(overview), pendingText(view)].filter((text) => text !== '').join('; '),
	].map(printable);
}

/** What apps get in an outage, then why it is not ready or what fails, each text once. */
function troubleText({ failure: known, reasons }: OverviewView): string {
	// Missing from a sidecar of an earlier version.
	const failure = known ?? null;
	const errors = failure?.errors ?? [];
	const others = reasons.filter((reason) => !errors.some((error) => reason.includes(error)));
	return [outageSentence(failure, timeOfDay), ...others, ...errors].filter((text) => text !== '').join('; ');
}

/** Which registrations the registry does not know, and why the first is not. */
function pendingText({ registrations }: StatusView): string {
	const pending = registrations.filter(({ state }) => state === 'pending');
	const [first] = pending;
	if (first === undefined) return '';
	const more = pending.length > 1 ? ` and ${pending.length - 1} more` : '';
	// Missing from a sidecar of an earlier version.
	return `not registered yet: ${first.service}${more}${first.error ? `: ${first.error}` : ''}`;
}

/** A line where events are on, none where they are off. */
function eventsTexts({ events, overview: { recordsPerSecond } }: StatusView): string[] {
	if (events === null) return [];
	const { state, reason, bytes, bytesMax, unstored, oldestUnstoredMs, groups } = events;
	const rate = recordsPerSecond === null ? '-' : shortNumber(recordsPerSecond);
	const full = bytesMax === 0 ? '-' : `${Math.round((bytes / bytesMax) * 100)}%`;
	const waits = oldestUnstoredMs === null ? '' : ` for ${formatDuration(oldestUnstoredMs)}`;
	const [behind] = [...groups].sort((one, other) => (other.lag ?? 0) - (one.lag ?? 0));
	const lag = behind?.lag ? `${shortNumber(behind.lag)} (${behind.group} of ${behind.stream})` : '0';
	const text = `events ${state}  records/s ${rate}  log ${full}  unstored ${unstored}${waits}  lag ${lag}`;
	return [printable(reason === null ? text : `${text}  ${reason}`)];
}

function latencyText({ boundsMs, total, recent, recentMs }: LatencyView): string {
	const [firstBound] = boundsMs;
	if (firstBound === undefined) return '';
	const isRecent = recent.some((count) => count > 0);
	const counts = isRecent ? recent : total;
	const when = isRecent ? `last ${formatDuration(recentMs)}` : 'since the start';
	const share = (part: number): string => {
		const bound = quantile(boundsMs, counts, part);
		return bound === undefined ? '-' : `≤${latencyOf(bound)}`;
	};
	const ends = `${latencyOf(firstBound)} ${bars(counts)} >${latencyOf(boundsMs.at(-1) as number)}`;
	return `latency ${when}  ${ends}  p50 ${share(0.5)}  p99 ${share(0.99)}`;
}

function latencyOf(ms: number): string {
	return ms < 1 ? `${Math.round(ms * 1000)}µs` : ms < 1000 ? `${ms}ms` : `${ms / 1000}s`;
}

function tabLine({ view, detail, state, width }: ScreenInput, paint: Paint): string {
	const { tab, filter, isTyping, orders } = state;
	const order = TOP_ORDERS[tab][orders[tab]] as string;
	const search = isTyping ? `/${filter}_` : filter === '' ? '' : `/${filter}`;
	if (state.detail !== undefined) {
		const watchers = (detail?.watchers ?? []).map(({ client, pid, connection }) =>
			`${client ?? `#${connection}`} ${pid ?? ''}`.trim(),
		);
		const who =
			detail === undefined
				? ''
				: `watched by ${detail.watcherCount}${watchers.length > 0 ? `: ${watchers.join(', ')}` : ''}`;
		const open = view?.services.find(({ key }) => key === state.detail) ?? detail;
		return cut(
			`${printable(open === undefined ? state.detail : nameOf(open))}  ${printable(who)}  ${search}`,
			width,
			'bold',
			paint,
		);
	}
	const counts = {
		services: view?.overview.services ?? 0,
		connections: view?.connections.count ?? 0,
		changes: view?.changes.length ?? 0,
	};
	let room = width;
	const parts: string[] = [];
	const add = (style: Style, text: string): void => {
		const shown = [...text].slice(0, Math.max(0, room)).join('');
		room -= text.length + 1;
		parts.push(paint(style, shown));
	};
	for (const name of TOP_TABS) add(name === tab ? 'inverse' : 'dim', ` ${name} ${counts[name]} `);
	add('plain', `by ${order}  ${search}`);
	return parts.filter((part) => part !== '').join(' ');
}

function columnWidths(columns: readonly Column[], width: number): number[] {
	const taken = columns.reduce((sum, column) => sum + column.width + 1, -1);
	return columns.map((column) => (column.width === 0 ? Math.max(8, width - taken) : column.width));
}

/** How a row is drawn. */
interface RowStyle {
	readonly columns: readonly Column[];
	readonly widths: readonly number[];
	readonly width: number;
	readonly isSelected: boolean;
	readonly paint: Paint;
}

function rowLine(row: Row, { columns, widths, width, isSelected, paint }: RowStyle): string {
	const cells = row.cells.map((cell, index) => fit(cell, widths[index] as number, columns[index]?.align));
	const text = fit(cells.join(' '), width);
	return isSelected ? paint('inverse', text) : paint(row.tone, text);
}
