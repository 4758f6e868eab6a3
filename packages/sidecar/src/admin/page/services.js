import { SortedColumns } from './columns.js';
import { arrange, byId, MoreButton, scrollable, setText } from './dom.js';
import { hasAll, plural, whole } from './format.js';
import { ServiceRow } from './service-row.js';

/** Rows shown at once: a thousand services are found by their name, or a step at a time. */
const STEP = 100;

const COLUMNS = [
	{ name: 'Service', by: ({ service, key }) => `${service}\n${key}`, first: 'ascending' },
	{ name: 'Healthy', by: ({ healthy, instances }) => (instances === 0 ? 0 : healthy / instances), first: 'ascending' },
	{ name: 'State', by: severity, first: 'ascending' },
	{ name: 'Watchers', by: ({ readers }) => readers, first: 'descending', number: true, optional: true },
	{ name: 'Changed', by: ({ changedAt }) => changedAt ?? 0, first: 'descending', number: true },
	{ name: 'Revision', by: ({ revision }) => revision, first: 'descending', number: true, optional: true },
];
/** As the sidecar names them, the worst first. */
const PROBLEMS = ['no-answer', 'none-healthy', 'held-back', 'failing', 'some-unhealthy', 'warning'];

const services = new Map();
const rows = new Map();
let filter = [];
let problemsOnly = false;

const table = byId('services-table');
const more = new MoreButton(byId('services-more'), { step: STEP, noun: 'services', changed: showServices });
/** Trouble first. */
const columns = new SortedColumns(table, COLUMNS, {
	column: COLUMNS[2],
	changed: () => {
		more.reset();
		showServices();
	},
});

/** Takes rows that are new or different, and the keys of those that are gone. With `isAll` there are no others. */
export function takeServices({ rows: changed, gone }, isAll) {
	if (isAll) {
		const keys = new Set(changed.map(({ key }) => key));
		for (const key of services.keys()) if (!keys.has(key)) services.delete(key);
	}
	for (const service of changed) services.set(service.key, service);
	for (const key of gone) services.delete(key);
	for (const key of rows.keys()) if (!services.has(key)) rows.delete(key);
	showServices();
}

/** What is known of a service, by its key; undefined if no client watches it. */
export function serviceOf(key) {
	return services.get(key);
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

/** What a person should look at first; then last known answers, then live ones. */
function severity({ problem, state }) {
	if (problem !== null) return PROBLEMS.indexOf(problem);
	return PROBLEMS.length + (state === 'fresh' ? 1 : 0);
}

function isProblem({ problem }) {
	return problem !== null;
}

function matches({ service, label, found: { addresses, tags, zones, statuses } }) {
	return hasAll([service, label, ...addresses, ...tags, ...zones, ...statuses], filter);
}

function showServices() {
	const all = [...services.values()];
	const found = all.filter((service) => matches(service) && (!problemsOnly || isProblem(service)));
	showCount(found.length, all);
	// What is behind the other tab is drawn when it is chosen.
	if (byId('services-panel').hidden) return;
	columns.sort(found);
	const shown = more.take(found);
	const shownKeys = new Set(shown.map(({ key }) => key));
	// What was expanded stays so while it is filtered away; the others are made again when they are needed.
	for (const [key, row] of rows) {
		row.isShown = shownKeys.has(key);
		if (!row.isShown && !row.isOpen) rows.delete(key);
	}
	arrange(table, [table.caption, table.tHead, ...shown.map(bodyOf)]);
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

scrollable(table.parentElement, 'Services, scrollable');
