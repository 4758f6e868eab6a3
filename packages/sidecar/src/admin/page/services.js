import { arrange, byId, element, MoreButton, scrollable, setText } from './dom.js';
import { hasAll, plural, whole } from './format.js';
import { ServiceRow } from './service-row.js';

/** Rows shown at once: a thousand services are found by their name, or a step at a time. */
const STEP = 100;

/** `by` gives what a column is sorted by; `first` how it is sorted when it is chosen. */
const COLUMNS = [
	{ name: 'Service', by: ({ service, key }) => `${service}\n${key}`, first: 'ascending' },
	{ name: 'Healthy', by: ({ healthy, instances }) => (instances === 0 ? 0 : healthy / instances), first: 'ascending' },
	{ name: 'State', by: severity, first: 'ascending' },
	{ name: 'Watchers', by: ({ readers }) => readers, first: 'descending', number: true, optional: true },
	{ name: 'Changed', by: ({ changedAt }) => changedAt ?? 0, first: 'descending', number: true },
	{ name: 'Revision', by: ({ revision }) => revision, first: 'descending', number: true, optional: true },
];
const FINE = 5;

const services = new Map();
const rows = new Map();
/** Trouble first. */
let sort = { column: COLUMNS[2], order: 'ascending' };
let filter = [];
let problemsOnly = false;

const table = byId('services-table');
const more = new MoreButton(byId('services-more'), { step: STEP, noun: 'services', changed: showServices });

/** Takes rows that are new or different, and the keys of those that are gone. With `isAll` there are no others. */
export function takeServices({ rows: told, gone }, isAll) {
	if (isAll) {
		const keys = new Set(told.map(({ key }) => key));
		for (const key of services.keys()) if (!keys.has(key)) services.delete(key);
	}
	for (const service of told) services.set(service.key, service);
	for (const key of gone) services.delete(key);
	for (const key of rows.keys()) if (!services.has(key)) rows.delete(key);
	showServices();
}

/** Shows the services that have each of these words, in lower case, in their name or what their instances have. */
export function filterServices(words, isProblemsOnly) {
	filter = words;
	problemsOnly = isProblemsOnly;
	more.reset();
	showServices();
}

/** The ages grow by themselves. */
export function showServiceAges(nowMs) {
	for (const row of rows.values()) if (row.isShown) row.showAges(nowMs);
}

/** What a person should look at first: no answer or nobody who is healthy; then what is less bad. */
function severity({ state, healthy, instances, error, found }) {
	if (state === 'cold') return 0;
	if (healthy === 0) return 1;
	if (state !== 'fresh') return 2;
	if (healthy < instances) return 3;
	return error !== null || found.statuses.includes('warning') ? 4 : FINE;
}

function isProblem(service) {
	return severity(service) < FINE;
}

function matches({ service, label, found: { addresses, tags, zones, statuses } }) {
	return hasAll([service, label, ...addresses, ...tags, ...zones, ...statuses], filter);
}

function showServices() {
	const all = [...services.values()];
	const found = all.filter((service) => matches(service) && (!problemsOnly || isProblem(service)));
	sortServices(found);
	const shown = more.take(found);
	const shownKeys = new Set(shown.map(({ key }) => key));
	// What was expanded stays so while it is filtered away; the others are made again when they are needed.
	for (const [key, row] of rows) {
		row.isShown = shownKeys.has(key);
		if (!row.isShown && !row.isOpen) rows.delete(key);
	}
	arrange(table, [table.caption, table.tHead, ...shown.map(bodyOf)]);
	showCount(found.length, all);
}

function sortServices(list) {
	const { by } = sort.column;
	const direction = sort.order === 'ascending' ? 1 : -1;
	const byName = COLUMNS[0].by;
	const compare = (left, right) => (left < right ? -1 : left > right ? 1 : 0);
	list.sort((left, right) => compare(by(left), by(right)) * direction || compare(byName(left), byName(right)));
}

function bodyOf(service) {
	let row = rows.get(service.key);
	if (row === undefined) {
		row = new ServiceRow(COLUMNS.length);
		rows.set(service.key, row);
	}
	row.isShown = true;
	row.show(service);
	return row.body;
}

function showCount(count, all) {
	const problems = all.filter(isProblem).length;
	const isFiltered = filter.length > 0 || problemsOnly;
	const text = isFiltered ? `${whole(count)} of ${whole(all.length)}` : plural(all.length, 'service');
	setText(
		byId('services-count'),
		problems === 0 ? text : `${text}, ${plural(problems, 'with problems', 'with problems')}`,
	);
	const empty = byId('services-empty');
	empty.hidden = count > 0;
	setText(
		empty,
		all.length === 0
			? 'No service is watched yet: one appears here when an app asks for it.'
			: 'No service matches. Press Escape to clear the filter.',
	);
}

function chooseSort(column) {
	const opposite = { ascending: 'descending', descending: 'ascending' };
	sort = { column, order: sort.column === column ? opposite[sort.order] : column.first };
	more.reset();
	showSort();
	showServices();
}

function showSort() {
	for (const [index, cell] of [...table.tHead.rows[0].cells].entries()) {
		if (COLUMNS[index] === sort.column) cell.setAttribute('aria-sort', sort.order);
		else cell.removeAttribute('aria-sort');
	}
}

for (const column of COLUMNS) {
	const button = element('button', { type: 'button' }, column.name);
	button.addEventListener('click', () => chooseSort(column));
	const words = [column.number && 'number', column.optional && 'optional'].filter(Boolean).join(' ');
	table.tHead.rows[0].append(element('th', { scope: 'col', class: words || undefined }, button));
}
showSort();
scrollable(table.parentElement, 'Services, scrollable');
